/** What the server answers to the questions of a client, `<iq>` by `<iq>`. */
import type { BinaryNode } from '@whiskeysockets/baileys';
import { type Bundle, bundleNode, type Phone } from './phone.ts';

export interface Group {
  readonly id: string;
  readonly subject: string;
  readonly members: readonly Phone[];
  readonly addressing: 'pn' | 'lid';
}

export interface Directory {
  /** By number or LID; undefined for nobody. */
  phone(user: string): Phone | undefined;
  readonly owner: { readonly phone: string; readonly lid: string };
  readonly groups: ReadonlyMap<string, Group>;
  readonly mediaHost: string;
  /** How many one-time keys the client still has here. */
  readonly preKeys: number;
}

function child(node: BinaryNode | undefined, tag?: string): BinaryNode | undefined {
  return Array.isArray(node?.content) ? node.content.find((one) => tag === undefined || one.tag === tag) : undefined;
}

function children(node: BinaryNode | undefined): readonly BinaryNode[] {
  return Array.isArray(node?.content) ? node.content : [];
}

export function answerIq(node: BinaryNode, directory: Directory): BinaryNode {
  const attrs = { id: node.attrs['id'] ?? '', from: node.attrs['to'] ?? 's.whatsapp.net', type: 'result' };
  const content = contentFor(node, directory);
  if (typeof content === 'number') {
    return {
      tag: 'iq',
      attrs: { ...attrs, type: 'error' },
      content: [{ tag: 'error', attrs: { code: String(content), text: 'refused' } }],
    };
  }
  return { tag: 'iq', attrs, ...(content && { content }) };
}

export function refuseIq({ attrs }: BinaryNode, code: number): BinaryNode {
  const error: BinaryNode = { tag: 'error', attrs: { code: String(code), text: code === 429 ? 'rate-overlimit' : 'refused' } };
  return { tag: 'iq', attrs: { id: attrs['id'] ?? '', type: 'error', from: 's.whatsapp.net' }, content: [error] };
}

/** A number is an error code. */
function contentFor(node: BinaryNode, directory: Directory): BinaryNode[] | number | undefined {
  const question = child(node);
  switch (`${node.attrs['xmlns']} ${question?.tag}`) {
    case 'encrypt count':
      return [{ tag: 'count', attrs: { value: String(directory.preKeys) } }];
    case 'encrypt digest':
      return [{ tag: 'digest', attrs: {} }];
    case 'encrypt key':
      return keys(question, directory);
    case 'usync usync':
      return [usync(question, directory)];
    case 'abt props':
      return [{ tag: 'props', attrs: { hash: 'h' }, content: [] }];
    case 'blocklist undefined':
      return [{ tag: 'list', attrs: {}, content: [] }];
    case 'privacy privacy':
      return [{ tag: 'privacy', attrs: {}, content: [] }];
    case 'w:m media_conn':
      return [
        {
          tag: 'media_conn',
          attrs: { auth: 'media-token', ttl: '3600' },
          content: [{ tag: 'host', attrs: { hostname: directory.mediaHost, maxContentLengthBytes: '100000000' } }],
        },
      ];
    case 'w:g2 query':
      return group(directory.groups.get(node.attrs['to'] ?? ''));
    case 'w:g2 participating':
      return [{ tag: 'groups', attrs: {}, content: [] }];
    default:
      return undefined;
  }
}

function keys(question: BinaryNode | undefined, directory: Directory): BinaryNode[] | number {
  const asked = children(question).map(({ attrs }) => attrs['jid'] ?? '');
  const found = asked.map((jid) => [jid, bundleOf(jid, directory)] as const);
  if (found.some(([, bundle]) => !bundle)) return 406;
  return [{ tag: 'list', attrs: {}, content: found.flatMap(([jid, bundle]) => (bundle ? [bundleNode(jid, bundle)] : [])) }];
}

function bundleOf(jid: string, directory: Directory): Bundle | undefined {
  return directory.phone(jid.split(/[@:]/)[0] ?? '')?.creds;
}

/** Everybody has one device, the phone; the account under test has its phone beside the device itself. */
function usync(question: BinaryNode | undefined, directory: Directory): BinaryNode {
  const users = children(child(question, 'list')).map((user): BinaryNode => {
    const jid = user.attrs['jid'] ?? '';
    const phone = directory.phone(jid.split(/[@:]/)[0] ?? '');
    const devices: BinaryNode[] = phone ? [{ tag: 'device', attrs: { id: '0' } }] : [];
    return {
      tag: 'user',
      attrs: { jid },
      content: [
        { tag: 'devices', attrs: {}, content: [{ tag: 'device-list', attrs: {}, content: devices }] },
        ...(phone && !jid.endsWith('@lid') ? [{ tag: 'lid', attrs: { val: phone.lidJid } }] : []),
      ],
    };
  });
  return { tag: 'usync', attrs: { sid: 's', index: '0', last: 'true' }, content: [{ tag: 'list', attrs: {}, content: users }] };
}

function group(found: Group | undefined): BinaryNode[] | number {
  if (!found) return 404;
  const members = found.members.map((phone) => ({
    tag: 'participant',
    attrs:
      found.addressing === 'lid'
        ? { jid: phone.lidJid, phone_number: phone.phoneJid }
        : { jid: phone.phoneJid, lid: phone.lidJid },
  }));
  const attrs = { id: found.id, subject: found.subject, s_t: '1', creation: '1', addressing_mode: found.addressing };
  return [{ tag: 'group', attrs, content: members }];
}
