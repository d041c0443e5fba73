// The sequence of requests in ../README.md with java.net.http. The proxy, the CA and the client certificate are properties of the JVM.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;

public class Walk {
    static final String ACCOUNT = "AT459880000010204711";

    static final String CONSENT = """
        {
          "access": {"balances": [{"iban": "%1$s"}], "transactions": [{"iban": "%1$s"}]},
          "recurringIndicator": true,
          "validUntil": "9999-12-31",
          "frequencyPerDay": 4
        }""".formatted(ACCOUNT);

    static final String PAYMENT = """
        {
          "endToEndIdentification": "walk",
          "debtorAccount": {"iban": "%s", "currency": "EUR"},
          "instructedAmount": {"amount": "12.30", "currency": "EUR"},
          "creditorAccount": {"iban": "AT359850700040087109"},
          "creditorAgent": "ESELATW1XXX",
          "creditorName": "Café Eselsohr",
          "remittanceInformationStructured": {"reference": "RF-2210"},
          "padding": ""
        }""".formatted(ACCOUNT);

    final String base = System.getenv("BASE_URL");
    final List<String> steps = new ArrayList<>();
    final HttpClient bank = client();

    static HttpClient client() {
        var builder = HttpClient.newBuilder();
        if ("1.1".equals(System.getenv("HTTP_VERSION"))) {
            builder.version(HttpClient.Version.HTTP_1_1);
        }
        return builder.build();
    }

    HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(base + path)).header("X-Request-ID", UUID.randomUUID().toString());
    }

    HttpRequest post(String path, String body) {
        return request(path)
            .header("Content-Type", "application/json")
            .header("PSU-IP-Address", "192.0.2.7")
            .header("TPP-Redirect-URI", "https://tpp.example/back")
            .POST(BodyPublishers.ofString(body))
            .build();
    }

    /** Returns the body, after noting how the step went. */
    String step(String name, HttpRequest request) throws Exception {
        HttpResponse<String> response = bank.send(request, BodyHandlers.ofString());
        steps.add("\"%s\": {\"status\": %d, \"version\": \"%s\", \"body\": %s}"
            .formatted(name, response.statusCode(), response.version(), response.body()));
        return response.body();
    }

    static String member(String name, String json) {
        var member = Pattern.compile("\"" + name + "\": *\"([^\"]*)\"").matcher(json);
        member.find();
        return member.group(1);
    }

    static String sized(int size) {
        int missing = size - PAYMENT.getBytes(StandardCharsets.UTF_8).length;
        return PAYMENT.replace("\"padding\": \"\"", "\"padding\": \"" + "x".repeat(missing) + "\"");
    }

    void walk() throws Exception {
        String consent = member("consentId", step("consent", post("/v1/consents", CONSENT)));
        HttpRequest status = request("/v1/consents/" + consent + "/status").build();
        step("consent-status", status);
        step("accounts", request("/v1/accounts/?withBalance=true").header("Consent-ID", consent).build());
        step("transactions", request("/v1/accounts/" + ACCOUNT + "/transactions?bookingStatus=both")
            .header("Consent-ID", consent).build());

        String payments = "/v1/payments/sepa-credit-transfers";
        String payment = member("paymentId", step("payment", post(payments, PAYMENT)));
        step("payment-status", request(payments + "/" + payment + "/status").build());

        step("error", request("/v1/accounts/?withBalance=false")
            .header("Consent-ID", "00000000-0000-4000-8000-000000000000").build());
        step("largest", post(payments, sized(1048576)));
        step("too-large", post(payments, sized(1048577)));

        // A new client opens new connections.
        List<Integer> anew = new ArrayList<>();
        for (int n = Integer.parseInt(System.getenv("NEW")); n > 0; n--) {
            anew.add(client().send(status, BodyHandlers.discarding()).statusCode());
        }
        List<Integer> kept = new ArrayList<>();
        for (int n = Integer.parseInt(System.getenv("KEPT")); n > 0; n--) {
            kept.add(bank.send(status, BodyHandlers.discarding()).statusCode());
        }
        steps.add("\"new\": " + anew);
        steps.add("\"kept\": " + kept);
        System.out.println("{" + String.join(",\n", steps) + "}");
    }

    public static void main(String[] arguments) throws Exception {
        new Walk().walk();
    }
}
