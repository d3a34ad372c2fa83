# The image of the web process, the worker and kit: docker build --build-arg SOURCE_COMMIT=$(git rev-parse HEAD) -t addon .
# Nothing of it is written to at run time. The base image is pinned by its version; to pin it for good, add its digest.
FROM node:24.22.1-bookworm-slim AS base
WORKDIR /app

# Everything, and the image of the sandbox.
FROM base AS build
COPY package.json package-lock.json .npmrc ./
COPY packages/sandbox/package.json packages/sandbox/
COPY packages/conformance/package.json packages/conformance/
COPY dev/left-out dev/left-out
RUN npm ci
COPY . .
ARG SOURCE_COMMIT=""
RUN npm run build

FROM build AS packages
# The service needs nothing of the sandbox and the checker.
RUN rm -r packages
RUN npm prune --omit=dev

FROM base
LABEL org.opencontainers.image.title="addon-partner-starter-kit" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY prisma/migrations prisma/migrations
COPY --from=build /app/dist dist
# The image's user node, by number, so that Kubernetes sees that it is not root.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As in the Procfile. Node itself gets SIGTERM, and stops within 25 seconds.
CMD ["node", "dist/web.js"]
