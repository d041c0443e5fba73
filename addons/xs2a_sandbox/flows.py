"""What mitmproxy has written with `mitmdump -w`, `save_stream_file` or its key `w`."""

from datetime import UTC, datetime
from pathlib import Path

from mitmproxy import exceptions, http
from mitmproxy.io import FlowReader

from xs2a_sandbox import own_file
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.foreign import Foreign
from xs2a_sandbox.har import Entry, split_url
from xs2a_sandbox.messages import Headers


def read(file: Path) -> Foreign:
    """Raises ConfigError: the file cannot be read, or is no dump, or one of a newer mitmproxy."""
    entries, left_out = [], []
    try:
        with own_file.opened(file) as stream:
            for number, flow in enumerate(FlowReader(stream).stream(), 1):
                if not isinstance(flow, http.HTTPFlow):
                    left_out.append(f"flow {number}: it is {flow.type}, not HTTP")
                elif flow.response is None:
                    left_out.append(f"flow {number}: there was no answer")
                elif flow.request.method == "CONNECT":
                    left_out.append(f"flow {number}: it only opened a connection")
                else:
                    entries.append(_entry(flow, flow.response))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (exceptions.FlowReadException, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        # mitmproxy builds a flow of whatever stands in the file: lengths, times and kinds may be anything.
        text = f"{file}: after {len(entries) + len(left_out)} flows: {error or type(error).__name__}"
        raise ConfigError(f"{text}. It is no dump of mitmproxy, or not complete") from None
    except (RecursionError, MemoryError) as error:
        text = f"{file}: after {len(entries) + len(left_out)} flows: it is nested too deep, or a length is too large"
        raise ConfigError(f"{text} ({type(error).__name__}). It is no dump of mitmproxy, or not complete") from None
    return Foreign(tuple(entries), tuple(left_out))


def _entry(flow: http.HTTPFlow, answer: http.Response) -> Entry:
    request = flow.request
    bank, target = split_url(request.url)
    ended = answer.timestamp_end or request.timestamp_start
    return Entry(
        started=datetime.fromtimestamp(request.timestamp_start, UTC),
        milliseconds=max(0.0, (ended - request.timestamp_start) * 1000),
        bank=bank,
        method=request.method,
        target=target,
        headers=_headers(request.headers),
        body=_body(request) or b"",
        status=answer.status_code,
        answer_headers=_headers(answer.headers),
        answer_body=_body(answer) or b"",
        cut=answer.raw_content is None,
    )


def _body(message: http.Message) -> bytes | None:
    """Decoded, or as it is where it is not what its Content-Encoding says."""
    return message.get_content(strict=False)


def _headers(headers: http.Headers) -> Headers:
    return Headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields)
