"""`python -m tests.support.recorded_bank` serves until it is killed. Its first line contains its addresses as JSON."""

import argparse
import json
import ssl
from threading import Thread

from tests.support.recorded_bank.server import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="recorded_bank")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--login-port", type=int, default=0)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--client-ca", required=True)
    options = parser.parse_args()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(options.cert, options.key)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(options.client_ca)
    servers = serve(tls, (options.port, options.login_port))
    print(json.dumps({"port": servers[0].server_port, "login_port": servers[1].server_port}), flush=True)
    threads = [Thread(target=server.serve_forever, kwargs={"poll_interval": 3600}) for server in servers]
    for thread in threads:
        thread.start()


main()
