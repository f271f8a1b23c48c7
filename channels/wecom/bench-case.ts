import { WecomPush } from '../../src/simulator/wecom/push.ts';
import type { BenchCase } from '../bench.ts';
import { toInbound } from './in/inbound.ts';
import { encryptedOf, openCallback, parseAesKey } from './in/request.ts';
import { toWecom } from './out/format.ts';

const corpId = 'wwtestcompany';
const push = new WecomPush({ corpId, agentId: 7 });
const keys = { token: push.token, aesKey: parseAesKey(push.aesKey, 'KEY'), receiveId: corpId };

/** A callback: signed and encrypted. */
export const benchCase: BenchCase = {
  receive(number) {
    const { query, body } = push.seal(push.xml('ada', { MsgType: 'text', Content: `message ${number}` }));
    const bytes = Buffer.from(body);
    return () => {
      const now = Date.now();
      const opened = openCallback({ query, encrypted: encryptedOf(bytes) }, keys, now);
      if ('reason' in opened) throw new Error(opened.reason);
      const decoded = toInbound(opened.plaintext, { channel: 'wecom', account: `${corpId}:7`, corpId, agentId: '7', now });
      return decoded.kind === 'message' ? decoded.message : undefined;
    };
  },
  render: (markdown) => toWecom(markdown, true),
};
