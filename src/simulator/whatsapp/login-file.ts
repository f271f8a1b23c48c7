/** The login of a linked device as the adapter keeps it on disk. */
import { join } from 'node:path';
import type { AuthenticationCreds } from '@whiskeysockets/baileys';
import { LoginStore } from '../../../channels/whatsapp/wire/store.ts';
import { credsOf } from './phone.ts';

/** Writes the login of `me` into `dir`, with the keys of that name, and returns its credentials. */
export async function writeLogin(
  dir: string,
  keys: string,
  me: NonNullable<AuthenticationCreds['me']>,
): Promise<AuthenticationCreds> {
  const creds = { ...credsOf(keys), me, registered: true };
  // Of no use to these tests, but the peer that is sent the first message of a session is shown it.
  Object.assign(creds, {
    account: {
      details: Buffer.alloc(1),
      accountSignature: Buffer.alloc(64),
      accountSignatureKey: Buffer.alloc(32),
      deviceSignature: Buffer.alloc(64),
    },
  });
  using store = await LoginStore.open(join(dir, 'login.db'), { create: true, now: Date.now() });
  store?.write({ creds: { creds } }, Date.now());
  return creds;
}
