"""Isolates pages of a bank or a cassette at the sandbox's base URL: browsers give them an opaque origin.

Otherwise their scripts would have the console's origin, and all rights of a user who has signed in there.
"""

from xs2a_sandbox.http.media_type import is_json, media_type
from xs2a_sandbox.http.messages import Response

_HARMLESS = frozenset(
    "text/plain text/csv application/octet-stream application/pdf application/jose application/zip".split()
)
_OWN_ORIGIN = ("Content-Security-Policy", "sandbox allow-forms allow-scripts")
_AS_IT_SAYS = ("X-Content-Type-Options", "nosniff")


def confine(response: Response) -> Response:
    """Add a policy that removes the sandbox's origin, if a browser could show the response as a page."""
    content_type = next((value for name, value in response.headers if name.lower() == "content-type"), None)
    if content_type is None and not response.body and response.rest is None:
        return response
    media = media_type(content_type)
    if is_json(media) or media in _HARMLESS or _is_media(media):
        return response
    return response.with_headers(_OWN_ORIGIN, _AS_IT_SAYS)


def _is_media(media: str) -> bool:
    return media.startswith(("image/", "audio/", "video/", "font/")) and not media.endswith("+xml")
