/**
 * Events as the documentation of the platform shows them (open.feishu.cn, "Receive message" and its
 * siblings), and what seals them for a webhook.
 */
import { createCipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';

export interface FeishuMessage {
  readonly openId?: string;
  readonly senderType?: string;
  readonly chatId?: string;
  readonly chatType?: string;
  readonly messageId?: string;
  readonly type?: string;
  readonly content?: object | string;
  readonly text?: string;
  readonly mentions?: readonly object[];
  readonly parentId?: string;
  readonly rootId?: string;
  readonly threadId?: string;
  readonly createTime?: number;
}

export interface FeishuPayload {
  readonly schema: string;
  readonly header: Readonly<Record<string, string>> & { readonly event_id: string };
  readonly event: Readonly<Record<string, unknown>>;
}

export const BOT_OPEN_ID = 'ou_00000000000000000000000000000b07';

export function newMessageId(): string {
  return `om_${randomBytes(16).toString('hex')}`;
}

/** `token`: the verification token, which the long connection leaves empty. */
export function feishuEvent(
  type: string,
  event: object,
  options: { readonly appId: string; readonly token?: string },
): FeishuPayload {
  return {
    schema: '2.0',
    header: {
      event_id: randomUUID().replaceAll('-', ''),
      event_type: type,
      create_time: String(Date.now()),
      token: options.token ?? '',
      app_id: options.appId,
      tenant_key: '736588c9260f175e',
    },
    event: event as Readonly<Record<string, unknown>>,
  };
}

export function messageEvent(message: FeishuMessage): object {
  const { content = { text: message.text ?? '' }, openId = 'ou_ada' } = message;
  return {
    sender: {
      sender_id: { union_id: `on_${openId}`, user_id: 'e33ggbyz', open_id: openId },
      sender_type: message.senderType ?? 'user',
      tenant_key: '736588c9260f175e',
    },
    message: {
      message_id: message.messageId ?? newMessageId(),
      ...(message.rootId !== undefined && { root_id: message.rootId }),
      ...(message.parentId !== undefined && { parent_id: message.parentId }),
      ...(message.threadId !== undefined && { thread_id: message.threadId }),
      create_time: String(message.createTime ?? Date.now()),
      chat_id: message.chatId ?? `oc_${openId}`,
      chat_type: message.chatType ?? 'p2p',
      message_type: message.type ?? 'text',
      content: typeof content === 'string' ? content : JSON.stringify(content),
      ...(message.mentions && { mentions: message.mentions }),
      user_agent: 'Mozilla/5.0',
    },
  };
}

export function mention(key: string, openId: string, name: string): object {
  return { key, id: { union_id: `on_${openId}`, user_id: '', open_id: openId }, name, tenant_key: '736588c9260f175e' };
}

/**
 * The platform's side of a webhook, from "Encryption and decryption strategy": AES-256-CBC under SHA-256 of
 * the Encrypt Key with the IV in front, and the signature hex SHA-256 of timestamp, nonce, key and body.
 */
export function sealWebhook(
  payload: unknown,
  encryptKey: string,
  options: { readonly timestamp?: number } = {},
): { readonly body: string; readonly headers: Record<string, string> } {
  const key = createHash('sha256').update(encryptKey).digest();
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', key, iv);
  const encrypted = Buffer.concat([iv, cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()]).toString('base64');
  const body = JSON.stringify({ encrypt: encrypted });
  return { body, headers: signWebhook(body, encryptKey, options.timestamp) };
}

export function signWebhook(
  body: string,
  encryptKey: string,
  timestamp = Math.floor(Date.now() / 1_000),
): Record<string, string> {
  const nonce = String(Math.floor(Math.random() * 1e9));
  const signature = createHash('sha256').update(`${timestamp}${nonce}${encryptKey}${body}`, 'utf8').digest('hex');
  return {
    'content-type': 'application/json',
    'x-lark-request-timestamp': String(timestamp),
    'x-lark-request-nonce': nonce,
    'x-lark-signature': signature,
  };
}
