/** The socket in the data directory through which MCP clients reach the daemon. */
import { chmod, lstat, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { join } from 'node:path';
import { GatehouseError } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';

const NAME = 'mcp.sock';
/** What the kernel takes as the path of a socket: 108 bytes with the 0 at its end; macOS takes 104. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107;

/** Rejects with GH2306 where the path is longer than a socket's may be. */
export function socketPath(dataDir: string): string {
  const path = join(dataDir, NAME);
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_PATH_BYTES) return path;
  throw new GatehouseError(
    'GH2306',
    `the path of the socket has ${bytes} bytes, and the system takes ${MAX_PATH_BYTES}: ${path}`,
    {
      hint: 'name the data directory by a shorter path, to the daemon and to `mcp serve`: `ln -s DIR ~/.gh` makes one, then `--data-dir ~/.gh`',
    },
  );
}

/**
 * Listens there, for the user of this process alone. The caller holds the lock of the data directory, so what
 * lies there was left by a daemon that is gone. Rejects with GH2306.
 */
export async function listenOn(server: Server, path: string): Promise<void> {
  // Under another name until its mode is set: no instant in which another user could connect. The name is as
  // long, so that it fits where the other does.
  const draft = `${path.slice(0, -1)}_`;
  try {
    await removeSocket(path);
    await removeSocket(draft);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(draft, () => {
        server.removeListener('error', reject);
        resolve();
      });
    });
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (error) {
    server.close();
    throw error instanceof GatehouseError
      ? error
      : new GatehouseError('GH2306', `cannot listen on ${path}`, { hint: 'check the mode of the data directory', cause: error });
  }
}

/** Removes a socket that lies there. Rejects with GH2306 where it is something else. */
export async function removeSocket(path: string): Promise<void> {
  const found = await look(path);
  if (!found) return;
  if (!found.isSocket())
    throw new GatehouseError('GH2306', `${path} is no socket`, { hint: 'look at it, and move it out of the way' });
  await rm(path, { force: true });
}

/**
 * For who connects: whether a daemon of this user listens, or did. Rejects with GH2306 where the socket could
 * be another user's.
 */
export async function isOwnSocket(path: string): Promise<boolean> {
  const found = await look(path);
  if (!found) return false;
  const uid = process.getuid?.();
  // The system's administrator may read whatever the daemon may.
  if (found.isSocket() && (found.uid === uid || uid === 0) && (found.mode & 0o077) === 0) return true;
  throw new GatehouseError('GH2306', `${path} is no socket that only this user can open`, {
    hint: 'run `gatehouse mcp serve` as the user of the daemon, with its `--data-dir`',
  });
}

async function look(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
