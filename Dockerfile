# syntax=docker/dockerfile:1

FROM python:3.13-slim@sha256:8d9d0b8bcf6506481eae4907c18f5e3e7902e629f5f6d684f9e7c32e85e3ddf0 AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY addons addons
COPY cassettes cassettes
COPY schemas schemas
COPY docs docs
COPY requirements requirements
# Nothing is installed at run time: the environment that goes into the image has no pip.
RUN python -m venv --without-pip /opt/xs2a-sandbox
RUN pip --python /opt/xs2a-sandbox/bin/python install --no-cache-dir --disable-pip-version-check --require-hashes --requirement requirements/run.txt
RUN pip --python /opt/xs2a-sandbox/bin/python install --no-cache-dir --disable-pip-version-check --no-deps .

FROM python:3.13-slim@sha256:8d9d0b8bcf6506481eae4907c18f5e3e7902e629f5f6d684f9e7c32e85e3ddf0
LABEL org.opencontainers.image.title="xs2a-sandbox" \
      org.opencontainers.image.description="Answers like a bank's PSD2 XS2A interface" \
      org.opencontainers.image.licenses="Apache-2.0"
# A new named volume takes over the owner of the directory it covers.
RUN useradd --system --uid 10001 --user-group --home-dir /data --no-create-home sandbox \
 && install --directory --owner sandbox --group sandbox --mode 0700 /data \
 && install --directory --owner sandbox --group sandbox /sandbox
COPY --from=build /opt/xs2a-sandbox /opt/xs2a-sandbox
# As variables and not as arguments, so that they also hold for commands and flags of the user's.
ENV PATH=/opt/xs2a-sandbox/bin:$PATH \
    XS2A_SANDBOX_HOST=0.0.0.0 \
    XS2A_SANDBOX_CONFDIR=/data
USER sandbox
# Here the user's cassettes/ and xs2a-sandbox.yaml are looked for.
WORKDIR /sandbox
EXPOSE 8080 8081 8443
# http.client, because urllib would ask the proxy that the container may have been given.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
  CMD ["python", "-c", "import os, http.client; c = http.client.HTTPConnection('127.0.0.1', int(os.environ.get('XS2A_SANDBOX_PORT', 8081)), timeout=4); c.request('GET', '/_sandbox/health'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["xs2a-sandbox"]
CMD ["serve"]
