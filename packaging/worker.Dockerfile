# The image of the worker. Build it in the folder of a release:
#
#   docker build -f packaging/worker.Dockerfile --build-arg BUNDLE=outrider-0.1.0-linux-x64.tar.gz -t outrider-worker:0.1.0 release
#
# BASE can be any Debian 12 or later. If it contains the packages already, the build needs no network. Runs without an image
# of their own see the programs of this image, so add those that your runs need, such as compilers, in an image on top.
#
# With sandboxes of its own, the worker is root in its container and the container is privileged, because the worker creates
# namespaces, cgroups and mounts for them. Commands of runs execute in sandboxes as unprivileged users. With sandboxes in
# Kubernetes, the worker is the user `outrider` and needs no privileges. Its image is then also that of the pods of
# sandboxes, so it contains their programs in the folder where pods expect them, and the user of their commands.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS bundle
ARG BUNDLE
ADD ${BUNDLE} /unpacked/
RUN mv /unpacked/* /opt/outrider

FROM ${BASE}
RUN { command -v bwrap && command -v git && command -v ssh && command -v ps && [ -e /etc/ssl/certs/ca-certificates.crt ]; } >/dev/null \
  || { apt-get update && apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client procps && rm -rf /var/lib/apt/lists/*; }
RUN groupadd --system --gid 990 outrider \
  && useradd --system --uid 990 --gid 990 --home-dir /var/lib/outrider-worker --shell /usr/sbin/nologin outrider \
  && { getent passwd 1000 >/dev/null || useradd --uid 1000 --home-dir /home/sandbox --shell /bin/bash sandbox; }
COPY --from=bundle /opt/outrider /opt/outrider
RUN ln -s /opt/outrider/bin/outrider /usr/local/bin/outrider \
  && ln -s /opt/outrider/lib/packages/worker/native/build/* /opt/outrider/lib/node_modules/@vscode/ripgrep-linux-*/bin/rg /opt/outrider/bin/
ENV OUTRIDER_LOG_FORMAT=json
WORKDIR /var/lib/outrider-worker
VOLUME /var/lib/outrider-worker
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/outrider/bin/outrider"]
CMD ["worker", "--data-dir", "/var/lib/outrider-worker"]
