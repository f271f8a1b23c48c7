# syntax=docker/dockerfile:1
# Its build steps are the ones .ci/run runs; scripts in .ci/run compare them with this file.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci
RUN npm run build
RUN npm prune --omit=dev
# The other channels and tools, at the versions and digests of the lock file. WhatsApp has a library under the GPL: who
# wants it adds `RUN node dist/src/cli/main.js channels add whatsapp --yes`.
RUN node dist/src/cli/main.js channels add discord
RUN node dist/src/cli/main.js channels add email
RUN node dist/src/cli/main.js channels add feishu
RUN node dist/src/cli/main.js channels add slack
RUN node dist/src/cli/main.js channels add twilio
RUN node dist/src/cli/main.js models add-provider gemini
RUN node dist/src/cli/main.js tools add web
RUN node dist/src/cli/main.js tools add mcp
RUN node dist/src/cli/main.js tools add documents

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap ripgrep tini && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production GATEHOUSE_HOME=/data GATEHOUSE_REQUIRE_MODEL=1
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE /app/README.md ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# What `gatehouse simulate` shows in a browser.
COPY --from=build /app/src/simulator/page ./src/simulator/page
# What is mounted here begins as it is here: for the user of both services of compose.yaml, and no other.
RUN install -d -m 700 -o 10001 -g 10001 /data /data/workspaces /data/plugin-copies /run/gatehouse-tools
USER 10001:10001
VOLUME /data
# For Twilio, WeCom, or Feishu, Slack or Telegram by webhook set `gateway.webhooks.host` to `0.0.0.0` and publish 7781.
HEALTHCHECK --interval=30s --timeout=5s CMD ["node", "dist/src/cli/main.js", "status", "--json"]
# Without the upper bounds V8 lets garbage grow to twice the memory before it looks (bench/README.md, soak).
ENTRYPOINT ["tini", "--", "node", "--max-old-space-size=768", "--min-semi-space-size=4", "--max-semi-space-size=16", "dist/src/cli/main.js"]
CMD ["gateway", "--config", "/config/config.json"]
