/**
 * The one place that loads the MCP SDK, and only once a server is configured or a client connects: it costs
 * 30 MB.
 */
import { GatehouseError } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';

/** What installs it. */
const SDK_INSTALL = 'gatehouse tools add mcp';

/** What speaks to servers. Rejects with GH2301 where the package is not installed. */
export function loadSdk() {
  return installed(async () => {
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ]);
    return { Client, StreamableHTTPClientTransport };
  });
}

/** What serves clients. Rejects as `loadSdk`. */
export function loadServerSdk() {
  return installed(async () => {
    const [{ Server }, { CallToolRequestSchema, ListToolsRequestSchema }] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Server, CallToolRequestSchema, ListToolsRequestSchema };
  });
}

/** What of it speaks to authorization servers, for entries with a section `oauth`. Rejects as `loadSdk`. */
export async function loadOAuth() {
  return await installed(async () => {
    const [auth, { createPrivateKeyJwtAuth }, { checkResourceAllowed }, { OAuthError, ServerError }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/auth.js'),
      import('@modelcontextprotocol/sdk/client/auth-extensions.js'),
      import('@modelcontextprotocol/sdk/shared/auth-utils.js'),
      import('@modelcontextprotocol/sdk/server/auth/errors.js'),
    ]);
    return { ...auth, createPrivateKeyJwtAuth, checkResourceAllowed, OAuthError, ServerError };
  });
}

async function installed<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!isErrno(error, 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new GatehouseError('GH2301', 'the package that speaks MCP is not installed', {
      hint: `run \`${SDK_INSTALL}\`, and start again`,
      cause: error,
    });
  }
}
