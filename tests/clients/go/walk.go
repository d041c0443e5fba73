// The sequence of requests in ../README.md with net/http.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

const account = "AT459880000010204711"

type step struct {
	Status  int             `json:"status"`
	Version string          `json:"version"`
	Body    json.RawMessage `json:"body"`
}

func main() {
	bank := client()
	steps := map[string]any{}

	send := func(request *http.Request) step {
		response, err := bank.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			log.Fatal(err)
		}
		return step{response.StatusCode, response.Proto, body}
	}
	get := func(path string, consent string) step {
		request := newRequest("GET", path, nil)
		if consent != "" {
			request.Header.Set("Consent-ID", consent)
		}
		return send(request)
	}
	post := func(path string, body any) step {
		content, err := json.Marshal(body)
		if err != nil {
			log.Fatal(err)
		}
		request := newRequest("POST", path, bytes.NewReader(content))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("PSU-IP-Address", "192.0.2.7")
		request.Header.Set("TPP-Redirect-URI", "https://tpp.example/back")
		return send(request)
	}

	references := []map[string]string{{"iban": account}}
	created := post("/v1/consents", map[string]any{
		"access":             map[string]any{"balances": references, "transactions": references},
		"recurringIndicator": true,
		"validUntil":         "9999-12-31",
		"frequencyPerDay":    4,
	})
	steps["consent"] = created
	consent := member(created, "consentId")
	status := "/v1/consents/" + consent + "/status"
	steps["consent-status"] = get(status, "")
	steps["accounts"] = get("/v1/accounts/?withBalance=true", consent)
	steps["transactions"] = get("/v1/accounts/"+account+"/transactions?bookingStatus=both", consent)

	payments := "/v1/payments/sepa-credit-transfers"
	payment := map[string]any{
		"endToEndIdentification":          "walk",
		"debtorAccount":                   map[string]string{"iban": account, "currency": "EUR"},
		"instructedAmount":                map[string]string{"amount": "12.30", "currency": "EUR"},
		"creditorAccount":                 map[string]string{"iban": "AT359850700040087109"},
		"creditorAgent":                   "ESELATW1XXX",
		"creditorName":                    "Café Eselsohr",
		"remittanceInformationStructured": map[string]string{"reference": "RF-2210"},
		"padding":                         "",
	}
	initiated := post(payments, payment)
	steps["payment"] = initiated
	steps["payment-status"] = get(payments+"/"+member(initiated, "paymentId")+"/status", "")

	steps["error"] = get("/v1/accounts/?withBalance=false", "00000000-0000-4000-8000-000000000000")
	unpadded, _ := json.Marshal(payment)
	payment["padding"] = strings.Repeat("x", 1048576-len(unpadded))
	steps["largest"] = post(payments, payment)
	payment["padding"] = strings.Repeat("x", 1048577-len(unpadded))
	steps["too-large"] = post(payments, payment)

	var anew, kept []int
	for range make([]struct{}, number("NEW")) {
		request := newRequest("GET", status, nil)
		request.Close = true
		anew = append(anew, send(request).Status)
	}
	for range make([]struct{}, number("KEPT")) {
		kept = append(kept, get(status, "").Status)
	}
	steps["new"], steps["kept"] = anew, kept

	if err := json.NewEncoder(os.Stdout).Encode(steps); err != nil {
		log.Fatal(err)
	}
}

func client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if file := os.Getenv("CA_FILE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		transport.TLSClientConfig.RootCAs = roots
	}
	if address := os.Getenv("PROXY"); address != "" {
		proxy, err := url.Parse(address)
		if err != nil {
			log.Fatal(err)
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	if file := os.Getenv("CLIENT_CERT"); file != "" {
		certificate, err := tls.LoadX509KeyPair(file, os.Getenv("CLIENT_KEY"))
		if err != nil {
			log.Fatal(err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{certificate}
	}
	if os.Getenv("HTTP_VERSION") == "1.1" {
		transport.ForceAttemptHTTP2 = false
	}
	return &http.Client{Transport: transport}
}

func newRequest(method, path string, body io.Reader) *http.Request {
	request, err := http.NewRequest(method, os.Getenv("BASE_URL")+path, body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("X-Request-ID", uuid())
	return request
}

func uuid() string {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		log.Fatal(err)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func member(answer step, name string) string {
	var body map[string]any
	if err := json.Unmarshal(answer.Body, &body); err != nil {
		log.Fatal(err)
	}
	text, _ := body[name].(string)
	return text
}

func number(variable string) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		log.Fatal(err)
	}
	return n
}
