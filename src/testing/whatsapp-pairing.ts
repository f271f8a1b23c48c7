/** What the owner's phone does to link a device: it signs the device's identity key. */
import { createDecipheriv, randomBytes } from 'node:crypto';
import {
  aesDecryptGCM,
  aesEncryptCTR,
  type AuthenticationCreds,
  type BinaryNode,
  Curve,
  derivePairingCodeKey,
  hkdf,
  hmacSign,
  proto,
} from '@whiskeysockets/baileys';

const ACCOUNT_SIGNATURE = Buffer.from([6, 0]);

/** The parts of the QR code after the address in it. */
export function readQr(content: string): { ref: string; noiseKey: Buffer; identityKey: Buffer; secret: Buffer } {
  const [ref = '', noise = '', identity = '', secret = ''] = (content.split('#')[1] ?? '').split(',');
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
  return { ref, noiseKey: bytes(noise), identityKey: bytes(identity), secret: bytes(secret) };
}

/** `<pair-success>`: the account vouches for the device, sealed with the secret that only the code on its screen held. */
export function pairSuccess(options: {
  readonly account: Pick<AuthenticationCreds, 'signedIdentityKey'>;
  readonly identityKey: Uint8Array;
  readonly secret: Uint8Array;
  readonly jid: string;
  readonly lid: string;
}): BinaryNode {
  const { account, identityKey, secret, jid, lid } = options;
  const deviceDetails = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: 1, keyIndex: 1 }).finish();
  const signed = Buffer.concat([ACCOUNT_SIGNATURE, deviceDetails, identityKey]);
  const details = proto.ADVSignedDeviceIdentity.encode({
    details: deviceDetails,
    accountSignatureKey: account.signedIdentityKey.public,
    accountSignature: Curve.sign(account.signedIdentityKey.private, signed),
  }).finish();
  const hmac = hmacSign(Buffer.from(details), Buffer.from(secret));
  return {
    tag: 'pair-success',
    attrs: {},
    content: [
      { tag: 'device-identity', attrs: {}, content: proto.ADVSignedDeviceIdentityHMAC.encode({ details, hmac }).finish() },
      { tag: 'device', attrs: { jid, lid } },
      { tag: 'platform', attrs: { name: 'android' } },
    ],
  };
}

/** The phone's half of linking by a code that is typed on it. */
export class CodePairing {
  readonly #ephemeral = Curve.generateKeyPair();
  readonly #identity: AuthenticationCreds['signedIdentityKey'];
  #companion: Uint8Array = Buffer.alloc(0);

  constructor(account: Pick<AuthenticationCreds, 'signedIdentityKey'>) {
    this.#identity = account.signedIdentityKey;
  }

  /** What the server tells the device once the code was typed; `wrapped` is what the device sent with its request. */
  async hello(code: string, wrapped: Uint8Array, ref: Uint8Array): Promise<BinaryNode> {
    const companionKey = await derivePairingCodeKey(code, Buffer.from(wrapped.subarray(0, 32)));
    this.#companion = createDecipheriv('aes-256-ctr', companionKey, wrapped.subarray(32, 48)).update(wrapped.subarray(48, 80));
    const [salt, iv] = [randomBytes(32), randomBytes(16)];
    const own = aesEncryptCTR(this.#ephemeral.public, await derivePairingCodeKey(code, salt), iv);
    const leaf = (tag: string, content: Uint8Array): BinaryNode => ({ tag, attrs: {}, content });
    return {
      tag: 'link_code_companion_reg',
      attrs: { stage: 'primary_hello' },
      content: [
        leaf('link_code_pairing_ref', ref),
        leaf('primary_identity_pub', this.#identity.public),
        leaf('link_code_pairing_wrapped_primary_ephemeral_pub', Buffer.concat([salt, iv, own])),
      ],
    };
  }

  /** The secret and the identity key of the device, from its last message. */
  finish(bundle: Uint8Array): { identityKey: Buffer; secret: Buffer } {
    const shared = Curve.sharedKey(this.#ephemeral.private, this.#companion);
    const key = hkdf(Buffer.from(shared), 32, { salt: Buffer.from(bundle.subarray(0, 32)), info: 'link_code_pairing_key_bundle_encryption_key' });
    const opened = aesDecryptGCM(Buffer.from(bundle.subarray(44)), Buffer.from(key), Buffer.from(bundle.subarray(32, 44)), Buffer.alloc(0));
    const identityKey = Buffer.from(opened.subarray(0, 32));
    const random = opened.subarray(64, 96);
    const identityShared = Curve.sharedKey(this.#identity.private, identityKey);
    const secret = hkdf(Buffer.concat([shared, identityShared, random]), 32, { info: 'adv_secret' });
    return { identityKey, secret: Buffer.from(secret) };
  }
}
