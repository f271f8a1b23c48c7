/** What the owner's phone does to link a device: it signs the device's identity key. */
import { createDecipheriv, randomBytes } from 'node:crypto';
import {
  type AuthenticationCreds,
  aesDecryptGCM,
  aesEncryptCTR,
  type BinaryNode,
  Curve,
  derivePairingCodeKey,
  hkdf,
  hmacSign,
  proto,
} from '@whiskeysockets/baileys';
import type { Bundle, Phone } from './phone.ts';

const ACCOUNT_SIGNATURE = Buffer.from([6, 0]);

/** The parts of the QR code after the address in it. */
function readQr(content: string): { ref: string; noiseKey: Buffer; identityKey: Buffer; secret: Buffer } {
  const [ref = '', noise = '', identity = '', secret = ''] = (content.split('#')[1] ?? '').split(',');
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
  return { ref, noiseKey: bytes(noise), identityKey: bytes(identity), secret: bytes(secret) };
}

/** `<pair-success>`: the account vouches for the device, sealed with the secret that only its code held. */
function pairSuccess(options: {
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
class CodePairing {
  readonly #ephemeral = Curve.generateKeyPair();
  readonly #identity: AuthenticationCreds['signedIdentityKey'];
  #companion: Uint8Array = Buffer.alloc(0);

  constructor(account: Pick<AuthenticationCreds, 'signedIdentityKey'>) {
    this.#identity = account.signedIdentityKey;
  }

  /** What the server tells the device once the code was typed. The device sent `wrapped` with its request. */
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
    const key = hkdf(Buffer.from(shared), 32, {
      salt: Buffer.from(bundle.subarray(0, 32)),
      info: 'link_code_pairing_key_bundle_encryption_key',
    });
    const opened = aesDecryptGCM(
      Buffer.from(bundle.subarray(44)),
      Buffer.from(key),
      Buffer.from(bundle.subarray(32, 44)),
      Buffer.alloc(0),
    );
    const identityKey = Buffer.from(opened.subarray(0, 32));
    const random = opened.subarray(64, 96);
    const identityShared = Curve.sharedKey(this.#identity.private, identityKey);
    const secret = hkdf(Buffer.concat([shared, identityShared, random]), 32, { info: 'adv_secret' });
    return { identityKey, secret: Buffer.from(secret) };
  }
}

export interface LinkingOptions {
  readonly owner: Phone;
  readonly deviceJid: string;
  readonly linked: (device: string, bundle: Bundle) => void;
  /** To the connections of this device. */
  readonly send: (node: BinaryNode, device: string) => void;
}

/** Devices that want to be linked, by their Noise key. */
export class Linking {
  readonly #options: LinkingOptions;
  readonly #asking = new Map<string, Bundle>();
  #pairing: CodePairing | undefined;
  #code: { readonly wrapped: Uint8Array; readonly device: string } | undefined;

  constructor(options: LinkingOptions) {
    this.#options = options;
  }

  /** A device asked for a code to be typed. */
  get codeAsked(): boolean {
    return this.#code !== undefined;
  }

  /** A device came that nobody knows. */
  offerCodes(device: string, data: proto.ClientPayload.IDevicePairingRegistrationData): void {
    const { eRegid, eIdent, eSkeyId, eSkeyVal, eSkeySig } = data;
    const number = (bytes: Uint8Array | null | undefined): number =>
      Buffer.from(bytes ?? []).readUIntBE(0, bytes?.byteLength ?? 0);
    const keyPair = (bytes: Uint8Array | null | undefined) => ({ public: bytes ?? Buffer.alloc(0), private: Buffer.alloc(0) });
    this.#asking.set(device, {
      registrationId: number(eRegid),
      signedIdentityKey: keyPair(eIdent),
      signedPreKey: { keyId: number(eSkeyId), keyPair: keyPair(eSkeyVal), signature: eSkeySig ?? Buffer.alloc(0) },
    });
    const refs = Array.from(
      { length: 3 },
      (_, index): BinaryNode => ({ tag: 'ref', attrs: {}, content: Buffer.from(`ref-${index}`) }),
    );
    this.#iq(device, 'pair-1', { tag: 'pair-device', attrs: {}, content: refs });
  }

  /** The owner scans the QR code. */
  scan(content: string): void {
    const { identityKey, secret, noiseKey } = readQr(content);
    this.#vouch(identityKey, secret, noiseKey.toString('base64'));
  }

  /** The owner types the code. */
  async typeCode(code: string): Promise<void> {
    if (!this.#code) throw new Error('no device asked for a code');
    this.#pairing = new CodePairing(this.#options.owner.creds);
    const content = await this.#pairing.hello(code.replace(/\W/g, ''), this.#code.wrapped, Buffer.from('ref'));
    const attrs = { from: 's.whatsapp.net', id: 'n1', type: 'link_code_companion_reg', t: '1' };
    this.#options.send({ tag: 'notification', attrs, content: [content] }, this.#code.device);
  }

  /** What a device says while it is linked by a code. */
  codeStep(device: string, { attrs, content }: BinaryNode): void {
    const parts = Array.isArray(content) ? content : [];
    const bytes = (tag: string): Uint8Array => {
      const value = parts.find((part) => part.tag === tag)?.content;
      return value instanceof Uint8Array ? value : Buffer.alloc(0);
    };
    if (attrs['stage'] === 'companion_hello') {
      this.#code = { wrapped: bytes('link_code_pairing_wrapped_companion_ephemeral_pub'), device };
    } else if (this.#pairing) {
      const { identityKey, secret } = this.#pairing.finish(bytes('link_code_pairing_wrapped_key_bundle'));
      this.#vouch(identityKey, secret, device);
    }
  }

  #vouch(identityKey: Uint8Array, secret: Uint8Array, device: string): void {
    const { owner, deviceJid, linked } = this.#options;
    const bundle = this.#asking.get(device);
    if (!bundle) throw new Error('this device did not ask to be linked');
    linked(device, bundle);
    this.#iq(
      device,
      'pair-2',
      pairSuccess({ account: owner.creds, identityKey, secret, jid: deviceJid, lid: `${owner.lid}:7@lid` }),
    );
  }

  #iq(device: string, id: string, content: BinaryNode): void {
    this.#options.send(
      { tag: 'iq', attrs: { from: 's.whatsapp.net', type: 'set', id, xmlns: 'md' }, content: [content] },
      device,
    );
  }
}
