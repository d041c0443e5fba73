# The sequence of requests in ../README.md with net/http.
require "json"
require "net/http"
require "openssl"
require "securerandom"

ACCOUNT = "AT459880000010204711"
PAYMENTS = "/v1/payments/sepa-credit-transfers"

base = URI(ENV.fetch("BASE_URL"))
proxy = ENV["PROXY"] ? URI(ENV["PROXY"]) : nil
options = { use_ssl: base.scheme == "https" }
options[:ca_file] = ENV["CA_FILE"] if ENV["CA_FILE"]
if ENV["CLIENT_CERT"]
  options[:cert] = OpenSSL::X509::Certificate.new(File.read(ENV["CLIENT_CERT"]))
  options[:key] = OpenSSL::PKey.read(File.read(ENV["CLIENT_KEY"]))
end
connect = ->(&work) { Net::HTTP.start(base.host, base.port, proxy&.host, proxy&.port, options, &work) }

def ask(bank, request, consent: nil)
  request["X-Request-ID"] = SecureRandom.uuid
  request["Consent-ID"] = consent if consent
  response = bank.request(request)
  { status: response.code.to_i, version: response.http_version, body: JSON.parse(response.body) }
end

def get(bank, path, consent: nil)
  ask(bank, Net::HTTP::Get.new(path), consent: consent)
end

def post(bank, path, body)
  request = Net::HTTP::Post.new(
    path,
    "Content-Type" => "application/json",
    "PSU-IP-Address" => "192.0.2.7",
    "TPP-Redirect-URI" => "https://tpp.example/back",
  )
  request.body = JSON.generate(body)
  ask(bank, request)
end

steps = {}
connect.call do |bank|
  steps[:consent] = post(bank, "/v1/consents", {
    access: { balances: [{ iban: ACCOUNT }], transactions: [{ iban: ACCOUNT }] },
    recurringIndicator: true,
    validUntil: "9999-12-31",
    frequencyPerDay: 4,
  })
  consent = steps[:consent][:body]["consentId"]
  status = "/v1/consents/#{consent}/status"
  steps["consent-status"] = get(bank, status)
  steps[:accounts] = get(bank, "/v1/accounts/?withBalance=true", consent: consent)
  steps[:transactions] = get(bank, "/v1/accounts/#{ACCOUNT}/transactions?bookingStatus=both", consent: consent)

  payment = {
    endToEndIdentification: "walk",
    debtorAccount: { iban: ACCOUNT, currency: "EUR" },
    instructedAmount: { amount: "12.30", currency: "EUR" },
    creditorAccount: { iban: "AT359850700040087109" },
    creditorAgent: "ESELATW1XXX",
    creditorName: "Café Eselsohr",
    remittanceInformationStructured: { reference: "RF-2210" },
    padding: "",
  }
  steps[:payment] = post(bank, PAYMENTS, payment)
  steps["payment-status"] = get(bank, "#{PAYMENTS}/#{steps[:payment][:body]["paymentId"]}/status")

  steps[:error] = get(bank, "/v1/accounts/?withBalance=false", consent: "00000000-0000-4000-8000-000000000000")
  unpadded = JSON.generate(payment).bytesize
  sized = ->(size) { payment.merge(padding: "x" * (size - unpadded)) }
  steps[:largest] = post(bank, PAYMENTS, sized.call(1_048_576))
  steps["too-large"] = post(bank, PAYMENTS, sized.call(1_048_577))

  steps[:new] = Array.new(Integer(ENV.fetch("NEW"))) { connect.call { |anew| get(anew, status)[:status] } }
  steps[:kept] = Array.new(Integer(ENV.fetch("KEPT"))) { get(bank, status)[:status] }
end
puts JSON.generate(steps)
