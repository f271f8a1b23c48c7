import { shown, wordsOf } from '../../src/simulator/whatsapp/readers.ts';
import { judgeWhatsApp } from '../../src/testing/dialects/whatsapp.ts';
import type { FakeClock } from '../../src/testing/fakes.ts';
import { whatsAppScene } from '../../src/testing/whatsapp/scene.ts';
import { type StreamingStage, streamingContract } from '../streaming-contract.ts';

const ADA = '15551110000';

async function stage(clock: FakeClock): Promise<StreamingStage> {
  const scene = await whatsAppScene();
  const { platform, channel } = scene;
  platform.now = () => clock.now();
  platform.person(ADA);
  return {
    channel,
    chat: { chatId: ADA },
    seen: async () => shown(platform.seen).map(({ message }) => judgeWhatsApp(wordsOf(message))),
    refuseEdits: () => void platform.faults.push({ kind: 'refuse-edits' }),
    limitNextEdit: () => void platform.faults.push({ kind: 'refuse', code: 429 }),
    // No page publishes any for linked devices.
    rates: [],
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

streamingContract('WhatsApp', stage);
