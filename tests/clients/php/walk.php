<?php
// The sequence of requests in ../README.md with Guzzle.
declare(strict_types=1);

// The path on Debian; with Composer it is vendor/autoload.php.
require 'GuzzleHttp/autoload.php';

use GuzzleHttp\Client;
use GuzzleHttp\RequestOptions;

const ACCOUNT = 'AT459880000010204711';
const PAYMENTS = '/v1/payments/sepa-credit-transfers';

$options = ['base_uri' => getenv('BASE_URL'), RequestOptions::HTTP_ERRORS => false];
if ($file = getenv('CA_FILE')) {
    $options[RequestOptions::VERIFY] = $file;
}
if ($proxy = getenv('PROXY')) {
    $options[RequestOptions::PROXY] = $proxy;
}
if ($certificate = getenv('CLIENT_CERT')) {
    $options[RequestOptions::CERT] = $certificate;
    $options[RequestOptions::SSL_KEY] = getenv('CLIENT_KEY');
}
if ($version = getenv('HTTP_VERSION')) {
    $options[RequestOptions::VERSION] = $version;
}
$bank = new Client($options);

$ask = function (
    string $method, string $path, array $headers = [], ?string $body = null, array $curl = []
) use ($bank): array {
    $random = bin2hex(random_bytes(16));
    $headers['X-Request-ID'] = preg_replace('/(.{8})(.{4})(.{4})(.{4})(.{12})/', '$1-$2-$3-$4-$5', $random);
    $response = $bank->request($method, $path, ['headers' => $headers, 'body' => $body, 'curl' => $curl]);
    return [
        'status' => $response->getStatusCode(),
        'version' => $response->getProtocolVersion(),
        'body' => json_decode((string) $response->getBody(), true),
    ];
};
$post = fn (string $path, array $body): array => $ask('POST', $path, [
    'Content-Type' => 'application/json',
    'PSU-IP-Address' => '192.0.2.7',
    'TPP-Redirect-URI' => 'https://tpp.example/back',
], json_encode($body));

$steps = [];
$steps['consent'] = $post('/v1/consents', [
    'access' => ['balances' => [['iban' => ACCOUNT]], 'transactions' => [['iban' => ACCOUNT]]],
    'recurringIndicator' => true,
    'validUntil' => '9999-12-31',
    'frequencyPerDay' => 4,
]);
$consent = $steps['consent']['body']['consentId'];
$status = "/v1/consents/$consent/status";
$steps['consent-status'] = $ask('GET', $status);
$steps['accounts'] = $ask('GET', '/v1/accounts/?withBalance=true', ['Consent-ID' => $consent]);
$steps['transactions'] = $ask(
    'GET', '/v1/accounts/' . ACCOUNT . '/transactions?bookingStatus=both', ['Consent-ID' => $consent]
);

$payment = [
    'endToEndIdentification' => 'walk',
    'debtorAccount' => ['iban' => ACCOUNT, 'currency' => 'EUR'],
    'instructedAmount' => ['amount' => '12.30', 'currency' => 'EUR'],
    'creditorAccount' => ['iban' => 'AT359850700040087109'],
    'creditorAgent' => 'ESELATW1XXX',
    'creditorName' => 'Café Eselsohr',
    'remittanceInformationStructured' => ['reference' => 'RF-2210'],
    'padding' => '',
];
$steps['payment'] = $post(PAYMENTS, $payment);
$steps['payment-status'] = $ask('GET', PAYMENTS . "/{$steps['payment']['body']['paymentId']}/status");

$unknown = ['Consent-ID' => '00000000-0000-4000-8000-000000000000'];
$steps['error'] = $ask('GET', '/v1/accounts/?withBalance=false', $unknown);
$unpadded = strlen(json_encode($payment));
$sized = fn (int $size): array => ['padding' => str_repeat('x', $size - $unpadded)] + $payment;
$steps['largest'] = $post(PAYMENTS, $sized(1048576));
$steps['too-large'] = $post(PAYMENTS, $sized(1048577));

$steps['new'] = $steps['kept'] = [];
for ($n = (int) getenv('NEW'); $n > 0; $n--) {
    $steps['new'][] = $ask('GET', $status, curl: [CURLOPT_FRESH_CONNECT => true, CURLOPT_FORBID_REUSE => true])['status'];
}
for ($n = (int) getenv('KEPT'); $n > 0; $n--) {
    $steps['kept'][] = $ask('GET', $status)['status'];
}
echo json_encode($steps), "\n";
