import { BOT_OPEN_ID, feishuEvent, messageEvent } from '../../src/simulator/feishu/events.ts';
import type { BenchCase } from '../bench.ts';
import { readEvent, toInbound } from './in/inbound.ts';
import { render } from './out/format.ts';

const appId = 'cli_0123456789abcdef';
const context = { channel: 'feishu', account: appId, me: { openId: BOT_OPEN_ID, name: 'Gatehouse' } };

/** An event of the long connection. */
export const benchCase: BenchCase = {
  receive(number) {
    const said = messageEvent({ text: `message ${number}`, messageId: `om_${number}`, chatId: 'oc_1', openId: 'ou_1' });
    const event = JSON.stringify(feishuEvent('im.message.receive_v1', said, { appId }));
    return () => toInbound(readEvent(JSON.parse(event)), context);
  },
  render: (markdown) => render(markdown, { plain: false }),
};
