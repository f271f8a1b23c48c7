/**
 * WhatsApp addresses. A person has two: a phone number and a LID, which belongs to the account and survives a
 * new number.
 */

export interface Jid {
  readonly user: string;
  readonly kind: 'phone' | 'lid' | 'group' | 'broadcast' | 'newsletter' | 'bot' | 'other';
}

const KINDS: Readonly<Record<string, Jid['kind']>> = {
  's.whatsapp.net': 'phone',
  'c.us': 'phone',
  hosted: 'phone',
  lid: 'lid',
  'hosted.lid': 'lid',
  'g.us': 'group',
  broadcast: 'broadcast',
  newsletter: 'newsletter',
  bot: 'bot',
};

/** `user[_agent][:device]@server`: a person's devices are one sender. Undefined for what is no address. */
export function parseJid(jid: string | null | undefined): Jid | undefined {
  const match = /^([^@:_\s]{1,64})(?:_\d+)?(?::\d+)?@([a-z.]{1,32})$/.exec(jid ?? '');
  if (!match) return undefined;
  return { user: match[1] ?? '', kind: KINDS[match[2] ?? ''] ?? 'other' };
}

/** Without the device: `15550001234@s.whatsapp.net`, `99@lid`, `120363@g.us`. */
export function bareJid(jid: string): string {
  return jid.replace(/(?:_\d+)?(?::\d+)?@/, '@');
}

/** What the platform takes for a chat or a person of ours: ids without a server are numbers. */
export function jidOf(chatId: string): string {
  return chatId.includes('@') ? chatId : `${chatId}@s.whatsapp.net`;
}

/** Our own account: the number it was linked with and, once connected, its LID. */
export interface Me {
  readonly phone: string;
  readonly lid?: string;
}

/** The account of a stored login, undefined before it was linked. */
export function meOf({ me }: { readonly me?: { readonly id: string; readonly lid?: string | undefined } }): Me | undefined {
  const phone = parseJid(me?.id)?.user;
  const lid = parseJid(me?.lid)?.user;
  return phone === undefined ? undefined : { phone, ...(lid !== undefined && { lid }) };
}

export function isMe(jid: string | null | undefined, me: Me): boolean {
  const parsed = parseJid(jid);
  if (parsed?.kind === 'phone') return parsed.user === me.phone;
  return parsed?.kind === 'lid' && parsed.user === me.lid;
}

/**
 * The person of each number, as first seen. One who came without a number, or with another's, has `<lid>@lid`
 * in its place.
 */
export interface Pins {
  phoneOf(lid: string): string | undefined;
  lidOf(phone: string): string | undefined;
  pin(phone: string, lid: string): void;
}

/**
 * One immutable id for a person who may come under either address: the digits of the number, or
 * `<digits>@lid` where the number is not known or not theirs; the two never collide. The id under which a LID
 * was first seen stays its id, also when its number becomes known later, or the person took another number. A
 * number that comes with another LID has a new owner, who is known by that LID alone.
 */
export function personId(jid: string | null | undefined, alternative: string | null | undefined, pins: Pins): string | undefined {
  const known = [parseJid(jid), parseJid(alternative)];
  const phone = known.find((one) => one?.kind === 'phone')?.user;
  const lid = known.find((one) => one?.kind === 'lid')?.user;
  if (lid === undefined) return phone;
  const pinned = pins.phoneOf(lid);
  if (pinned !== undefined) return pinned;
  const id = phone === undefined || pins.lidOf(phone) !== undefined ? `${lid}@lid` : phone;
  pins.pin(id, lid);
  return id;
}

/** The same for who is only spoken of, which says nothing about which number is whose. */
export function mentionedId(jid: string | null | undefined, pins: Pins): string | undefined {
  const parsed = parseJid(jid);
  if (parsed?.kind === 'lid') return pins.phoneOf(parsed.user) ?? `${parsed.user}@lid`;
  return parsed?.kind === 'phone' ? parsed.user : undefined;
}
