/** Links an account: the phone scans a QR code, or a code is typed on it. */
import { join } from 'node:path';
import type { ChannelDeps, LoginUi } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { LOGIN_FILE } from './channel.ts';
import type { WhatsAppSettings } from './settings.ts';
import { WhatsAppConnection } from './wire/client.ts';
import { Ended } from './wire/failure.ts';
import { meOf } from './wire/ids.ts';
import { lockLogin } from './wire/lock.ts';
import { LoginStore, removeLogin, replaceLogin } from './wire/store.ts';

const NEW_FILE = 'login-new.db';
/** Linking ends the connection once; more often than this something else is wrong. */
const MAX_CONNECTIONS = 4;

/**
 * Resolves once the login is stored; an earlier login stays in use until then. Rejects with GH1202, GH1501,
 * GH1502 or GH1503, or with the signal's reason.
 */
export async function login(settings: WhatsAppSettings, deps: ChannelDeps, ui: LoginUi, signal: AbortSignal): Promise<void> {
  const { dir, clock } = deps;
  using lock = await lockLogin(dir, { clock, signal });
  if (!lock)
    throw new GatehouseError('GH1503', 'the daemon is using this login', { hint: 'stop the daemon, then run this again' });
  const path = join(dir, NEW_FILE);
  await removeLogin(path);
  try {
    const phone = await link(path, settings, deps, ui, signal);
    await keepPeople(path, join(dir, LOGIN_FILE), phone, clock.now());
    await replaceLogin(path, join(dir, LOGIN_FILE));
    ui.say(`Linked as +${phone}.`);
  } finally {
    await removeLogin(path);
  }
}

/** The owner of a number today must not become the person who had it because the account was linked again. */
async function keepPeople(path: string, oldPath: string, phone: string, now: number): Promise<void> {
  using store = await LoginStore.open(path, { create: false, now });
  using old = await LoginStore.open(oldPath, { create: false, now });
  const creds = old?.get('creds', 'creds') as Parameters<typeof meOf>[0] | undefined;
  if (store && old && creds && meOf(creds)?.phone === phone) store.adoptPeople(old);
}

async function link(
  path: string,
  settings: WhatsAppSettings,
  deps: ChannelDeps,
  ui: LoginUi,
  signal: AbortSignal,
): Promise<string> {
  using store = await LoginStore.open(path, { create: true, now: deps.clock.now() });
  if (!store) throw new GatehouseError('GH1202', `${path} cannot be made`);
  for (let connections = 0; ; connections += 1) {
    const outcome = await connectOnce(store, settings, deps, ui, signal);
    if (typeof outcome === 'string') return outcome;
    signal.throwIfAborted();
    // 515: the account is linked, and the server wants to see it log in.
    if (outcome.status !== 515 || connections >= MAX_CONNECTIONS) throw toError(outcome);
  }
}

/** The linked phone number, or why the connection ended without one. */
async function connectOnce(
  store: LoginStore,
  settings: WhatsAppSettings,
  { clock, logger }: ChannelDeps,
  ui: LoginUi,
  signal: AbortSignal,
): Promise<string | Ended> {
  let asked = false;
  const askForCode = async (phone: string): Promise<void> => {
    const code = await connection.pairingCode(phone);
    ui.say(
      `On the phone: WhatsApp > Linked devices > Link a device > Link with phone number instead. Code: ${code.slice(0, 4)}-${code.slice(4)}`,
    );
  };
  const connection = new WhatsAppConnection({
    store,
    url: settings.web_socket_url,
    ...(settings.client_version !== undefined && { version: settings.client_version }),
    requireEncryption: true,
    clock,
    logger,
    // Nothing is taken before the daemon runs: handling ends only with the connection, since an earlier end
    // would be answered with a refusal. So the server keeps it.
    onMessage: async () => {
      throw await connection.ended;
    },
    onQr: (content) => {
      if (settings.pairing_phone === undefined) ui.qr(content);
      else if (!asked) {
        asked = true;
        askForCode(settings.pairing_phone).catch(() => void connection.close());
      }
    },
  });
  const onAbort = (): void => void connection.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    await connection.opened;
    return connection.me?.phone ?? new Ended(new Error('the platform did not name the account'));
  } catch (error) {
    return error instanceof Ended ? error : new Ended(error);
  } finally {
    signal.removeEventListener('abort', onAbort);
    await connection.close();
  }
}

function toError({ status, message }: Ended): GatehouseError {
  // The SDK's word for the last code having run out; a connection that times out has the same status.
  if (message.startsWith('QR')) return new GatehouseError('GH1501', 'no phone linked itself in time', { hint: 'run it again' });
  if (status === 401 || status === 403)
    return new GatehouseError('GH1501', `the platform refused to link (${status})`, { hint: 'run it again' });
  return new GatehouseError('GH1502', `the platform could not be reached: ${message}`);
}
