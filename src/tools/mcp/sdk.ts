/** The one place that loads the MCP SDK, and only once a server is configured: it costs 30 MB. */
import { GatehouseError } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';

/** As package.json names it among the optional peers. */
export const SDK_INSTALL = 'npm install @modelcontextprotocol/sdk@1.32.2';

/** Rejects with GH2301 where the package is not installed. */
export async function loadSdk() {
  try {
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ]);
    return { Client, StreamableHTTPClientTransport };
  } catch (error) {
    if (!isErrno(error, 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new GatehouseError('GH2301', 'the package that speaks to MCP servers is not installed', {
      hint: `run \`${SDK_INSTALL}\` where gatehouse is installed, and start again`,
      cause: error,
    });
  }
}
