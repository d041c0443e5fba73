#!/usr/bin/env bash
# The sequence of requests in ../README.md with curl.
set -euo pipefail

bank=(curl --silent --show-error)
if [ -n "${PROXY:-}" ]; then bank+=(--proxy "$PROXY"); fi
if [ -n "${CA_FILE:-}" ]; then bank+=(--cacert "$CA_FILE"); fi
if [ -n "${CLIENT_CERT:-}" ]; then bank+=(--cert "$CLIENT_CERT" --key "$CLIENT_KEY"); fi
if [ -n "${HTTP_VERSION:-}" ]; then bank+=("--http$HTTP_VERSION"); fi

account=AT459880000010204711
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT

# Each answer is stored in a file, and printed with its status.
ask() {
  local step="$1" path="$2"
  shift 2
  printf '"%s": {' "$step"
  "${bank[@]}" --header "X-Request-ID: $(cat /proc/sys/kernel/random/uuid)" --output "$folder/$step" \
    --write-out '"status": %{http_code}, "version": "%{http_version}", "body": ' "$@" "$BASE_URL$path"
  cat "$folder/$step"
  printf '},\n'
}

member() {
  sed -n "s/.*\"$2\": *\"\([^\"]*\)\".*/\1/p" "$folder/$1" | head -n 1
}

payment='{
  "endToEndIdentification": "walk",
  "debtorAccount": {"iban": "'$account'", "currency": "EUR"},
  "instructedAmount": {"amount": "12.30", "currency": "EUR"},
  "creditorAccount": {"iban": "AT359850700040087109"},
  "creditorAgent": "ESELATW1XXX",
  "creditorName": "Café Eselsohr",
  "remittanceInformationStructured": {"reference": "RF-2210"}
}'

pay() {
  local step="$1"
  shift
  ask "$step" /v1/payments/sepa-credit-transfers --header 'Content-Type: application/json' \
    --header 'PSU-IP-Address: 192.0.2.7' --header 'TPP-Redirect-URI: https://tpp.example/back' "$@"
}

# A payment with this number of bytes.
sized() {
  local start="${payment%\}}, \"padding\": \""
  printf '%s%*s"}' "$start" "$(($1 - 2 - $(printf '%s' "$start" | wc -c)))" ''
}

printf '{\n'

ask consent /v1/consents --header 'Content-Type: application/json' --header 'PSU-IP-Address: 192.0.2.7' \
  --header 'TPP-Redirect-URI: https://tpp.example/back' --data '{
    "access": {"balances": [{"iban": "'$account'"}], "transactions": [{"iban": "'$account'"}]},
    "recurringIndicator": true,
    "validUntil": "9999-12-31",
    "frequencyPerDay": 4
  }'
consent="$(member consent consentId)"
ask consent-status "/v1/consents/$consent/status"
ask accounts '/v1/accounts/?withBalance=true' --header "Consent-ID: $consent"
ask transactions "/v1/accounts/$account/transactions?bookingStatus=both" --header "Consent-ID: $consent"

pay payment --data "$payment"
ask payment-status "/v1/payments/sepa-credit-transfers/$(member payment paymentId)/status"

ask error '/v1/accounts/?withBalance=false' --header 'Consent-ID: 00000000-0000-4000-8000-000000000000'
sized 1048576 | pay largest --data-binary @-
sized 1048577 | pay too-large --data-binary @-

# The part after the # is not sent. It makes curl repeat the request.
statuses() {
  "${bank[@]}" --header "X-Request-ID: $(cat /proc/sys/kernel/random/uuid)" --output /dev/null --write-out '%{http_code}\n' "$@"
}
status="$BASE_URL/v1/consents/$consent/status"

fresh() {
  if [ "${HTTP_VERSION:-}" = 1.1 ]; then
    # One curl closes its connection after each answer, and resumes the TLS session on the next.
    statuses --header 'Connection: close' "$status#[1-$NEW]"
  else
    for _ in $(seq "$NEW"); do statuses "$status"; done
  fi
}
printf '"new": [%s],\n' "$(fresh | paste -sd,)"
printf '"kept": [%s]\n' "$(statuses "$status#[1-$KEPT]" | paste -sd,)"
printf '}\n'
