/** How each capability is played on a company of our own (test-only). */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InboundMessage, MediaKind } from '../../src/core/message.ts';
import type { WecomFields } from '../../src/simulator/wecom/push.ts';
import { tempDir, until } from '../../src/testing/fakes.ts';
import { startWecomScene } from '../../src/testing/wecom/scene.ts';
import type { CapabilityCases } from '../capabilities.ts';

type Scene = Awaited<ReturnType<typeof startWecomScene>>;

async function arrives(
  fields: WecomFields,
  check: (message: InboundMessage, scene: Scene) => void | Promise<void>,
): Promise<void> {
  await using at = await startWecomScene();
  at.push.message('ada', fields);
  await check(await until('it arrived', () => at.host.accepted[0]), at);
}

/** Somebody sends a file; what was fetched are its bytes. */
function fileIn(fields: WecomFields, kind: MediaKind): () => Promise<void> {
  return () =>
    arrives({ ...fields, MediaId: 'm-1' }, async ({ media: [media] }, { server, channel }) => {
      assert.equal(media?.kind, kind);
      server.addMedia('m-1', { name: 'a.bin', bytes: Buffer.from('the bytes') });
      const file = await channel.download?.(media, new AbortController().signal);
      assert.equal(await new Response(ReadableStream.from(file?.bytes ?? [])).text(), 'the bytes');
    });
}

function fileOut(kind: MediaKind, mime: string, msgtype: string, content = 'the bytes'): () => Promise<void> {
  return async () => {
    await using dir = await tempDir();
    await using at = await startWecomScene();
    const path = join(dir.path, 'a');
    await writeFile(path, content);
    const result = await at.send({ text: '', file: { path, name: 'a.bin', mime, kind, bytes: content.length } });
    assert.equal(result.kind, 'sent');
    const [sent] = at.server.sends;
    assert.deepEqual([sent?.msgtype, sent?.file?.name, sent?.file?.bytes.toString()], [msgtype, 'a.bin', content]);
  };
}

export const cases: CapabilityCases = {
  'text in': () => arrives({ MsgType: 'text', Content: 'hello' }, ({ text }) => assert.equal(text, 'hello')),
  'text out': async () => {
    await using at = await startWecomScene();
    assert.equal((await at.send({ text: '**hello**' })).kind, 'sent');
    assert.deepEqual(
      at.server.sends.map(({ msgtype, text }) => [msgtype, text]),
      [['markdown', '**hello**']],
    );
  },
  'photo in': fileIn({ MsgType: 'image', PicUrl: 'https://example.org/p' }, 'photo'),
  'photo out': fileOut('photo', 'image/png', 'image'),
  'voice in': fileIn({ MsgType: 'voice', Format: 'amr' }, 'voice'),
  'voice out': fileOut('voice', 'audio/amr', 'voice', '#!AMR\n<the bytes of a frame, 31 of them>'),
  'audio in': 'people can send voice notes and files; music arrives as a file',
  'audio out': fileOut('audio', 'audio/mpeg', 'file'),
  'document in': fileIn({ MsgType: 'file', FileName: 'a.pdf' }, 'document'),
  'document out': fileOut('document', 'application/pdf', 'file'),
  'album in': 'each picture is a message of its own',
  'thread in': 'the chat with an application has no threads',
  'thread out': 'the chat with an application has no threads',
  'threads of its own': 'the chat with an application has no threads',
  'reply in': 'callbacks do not say what a message quotes',
  'reply out': 'the API cannot quote a message',
  'earlier messages': 'an application is in no groups',
  'reaction in': 'applications are not told of reactions',
  'reaction out': 'the API has no reactions',
  'edit in': 'messages cannot be edited',
  'delete in': 'applications are not told of recalled messages',
  'edit out': 'a sent message can be recalled and not changed',
  typing: 'the API has no typing indicator',
  buttons: async () => {
    await using at = await startWecomScene();
    const choices = [
      { label: 'Yes', value: 'go:1' },
      { label: 'No', value: 'stop:1' },
    ];
    assert.equal(at.channel.buttons, true);
    assert.equal((await at.send({ text: 'Go on?', choices })).kind, 'sent');
    const card = at.server.sends[0]?.card as { task_id: string; button_list: { text: string; key: string }[] };
    assert.deepEqual(
      card.button_list.map(({ text }) => text),
      ['Yes', 'No'],
    );
    const EventKey = card.button_list[0]?.key ?? '';
    at.push.message('ada', { MsgType: 'event', Event: 'template_card_event', EventKey, TaskId: card.task_id });
    const pressed = await until('the press arrived', () => at.host.accepted[0]);
    assert.deepEqual([pressed.kind, pressed.text, pressed.senderId], ['message', 'go:1', 'ada']);
  },
  'command in': async () => {
    await arrives({ MsgType: 'text', Content: '/new please' }, ({ text }) => assert.equal(text, '/new please'));
    // An entry of the application's menu carries a key that the operator chose.
    await arrives({ MsgType: 'event', Event: 'click', EventKey: '/help' }, ({ text }) => assert.equal(text, '/help'));
  },
  'select menu': 'not built: template cards have menus; choices are buttons',
  'command answers for one person': 'an application is written to in its own chat, which one person sees',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'applications add nothing to the menu of a message',
  'mention in a group': 'an application is written to in its own chat and is in no groups',
  'catch-up after a disconnect': async () => {
    // By the platform's own repeats, of which there are three; afterwards there is nothing to ask.
    await using at = await startWecomScene();
    await at.channel.stop();
    at.push.message('ada', { MsgType: 'text', Content: 'while away' });
    await until('the platform tried', () => at.push.statuses.length > 0);
    const next = await at.create();
    await next.start(at.host, new AbortController().signal);
    const message = await until('it arrived', () => at.host.accepted[0]);
    assert.equal(message.text, 'while away');
    await next.stop();
  },
  'second key': 'a message comes under one MsgId however often it is repeated',
  'proof of a send': async () => {
    await using at = await startWecomScene();
    at.server.fault({ method: 'message/send', kind: 'drop' });
    assert.equal((await at.send({ key: 'k#0', text: 'once' })).kind, 'unknown');
    assert.equal((await at.send({ key: 'k#0', text: 'once' })).kind, 'sent');
    assert.equal(at.server.sends.length, 1);
  },
};
