"""HTTP messages as every door and every client sees them."""

from xs2a_sandbox.http.messages import Headers, Request, Response, to_json

__all__ = ["Headers", "Request", "Response", "to_json"]
