/** What people can do on Feishu and Lark, played against an Open Platform of ours. For tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { MediaKind } from '../../src/core/message.ts';
import { BOT_OPEN_ID, feishuEvent, mention } from '../../src/simulator/feishu/events.ts';
import { visibleText } from '../../src/simulator/feishu/posts.ts';
import { tempDir, until } from '../../src/testing/fakes.ts';
import { type FeishuScene, feishuScene } from '../../src/testing/feishu/scene.ts';
import type { CapabilityCases } from '../capabilities.ts';

const play = (run: (at: FeishuScene) => Promise<void>) => async (): Promise<void> => {
  await using at = await feishuScene();
  await run(at);
};

const { signal } = new AbortController();

const FILES = {
  photo: { type: 'image', content: { image_key: 'k1' }, mime: 'image/png', name: 'p.png', out: 'image', upload: 'message' },
  voice: {
    type: 'audio',
    content: { file_key: 'k1', duration: 2000 },
    mime: 'audio/ogg',
    name: 'v.ogg',
    out: 'audio',
    upload: 'opus',
  },
  // What people send as a file of music arrives as a file.
  audio: {
    type: 'file',
    content: { file_key: 'k1', file_name: 'a.mp3' },
    mime: 'audio/mpeg',
    name: 'a.mp3',
    out: 'file',
    upload: 'stream',
  },
  document: {
    type: 'file',
    content: { file_key: 'k1', file_name: 'd.pdf' },
    mime: 'application/pdf',
    name: 'd.pdf',
    out: 'file',
    upload: 'pdf',
  },
} as const;

function fileIn(kind: keyof typeof FILES) {
  return play(async ({ server, channel, message }) => {
    const bytes = Buffer.from(`the bytes of a ${kind}`);
    server.files.set('k1', bytes);
    const { type, content, name } = FILES[kind];
    server.say({ type, content });
    const [media] = (await message()).media;
    if (!media) throw new Error('no file came');
    expect(media.kind).toBe(kind === 'audio' ? 'document' : kind);
    if (type === 'file') expect(media.name).toBe(name);
    const file = await channel.download?.(media, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of file?.bytes ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks)).toEqual(bytes);
  });
}

function fileOut(kind: keyof typeof FILES) {
  return play(async ({ server, send }) => {
    await using dir = await tempDir();
    const path = join(dir.path, 'copy');
    await writeFile(path, `the bytes of a ${kind}`);
    const { name, mime, out, upload } = FILES[kind];
    const file = { path, name, mime, kind: kind satisfies MediaKind, bytes: 20 };
    expect(await send({ text: '', file })).toMatchObject({ kind: 'sent' });
    expect(server.posts.map(({ type }) => type)).toEqual([out]);
    const [uploaded] = server.uploads.values();
    expect(uploaded).toMatchObject({ type: upload, bytes: Buffer.from(`the bytes of a ${kind}`) });
    if (out === 'file') expect(uploaded?.name).toBe(name);
  });
}

const GROUP = { chatId: 'oc_team', chatType: 'group' } as const;

export const cases: CapabilityCases = {
  'text in': play(async ({ server, message }) => {
    server.say({ text: 'hello' });
    expect(await message()).toMatchObject({ text: 'hello', senderId: 'ou_ada', chatId: 'oc_ou_ada', isGroup: false });
  }),
  'text out': play(async ({ server, send }) => {
    await send({ text: 'plain words', key: 'a' });
    await send({ text: 'some **bold** words', key: 'b' });
    await send({ text: '# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |', key: 'c' });
    expect(server.posts.map(({ type }) => type)).toEqual(['text', 'post', 'interactive']);
    expect(server.posts[1]?.content).toEqual({
      zh_cn: {
        content: [
          [
            { tag: 'text', text: 'some ' },
            { tag: 'text', text: 'bold', style: ['bold'] },
            { tag: 'text', text: ' words' },
          ],
        ],
      },
    });
    expect(server.posts[2]?.content['elements']).toMatchObject([{ tag: 'markdown', content: '**Title**' }, { tag: 'table' }]);
  }),
  'photo in': fileIn('photo'),
  'photo out': fileOut('photo'),
  'voice in': fileIn('voice'),
  'voice out': fileOut('voice'),
  'audio in': fileIn('audio'),
  'audio out': fileOut('audio'),
  'document in': fileIn('document'),
  'document out': fileOut('document'),
  'album in': play(async ({ server, message }) => {
    const line = ['k1', 'k2', 'k3'].map((image_key) => ({ tag: 'img', image_key }));
    server.say({ type: 'post', content: { title: 'Three pictures', content: [line, [{ tag: 'text', text: 'from the trip' }]] } });
    const { text, media } = await message();
    expect(text).toBe('Three pictures\n\nfrom the trip');
    expect(media.map(({ kind }) => kind)).toEqual(['photo', 'photo', 'photo']);
  }),
  'thread in': play(async ({ server, message }) => {
    server.say({ ...GROUP, threadId: 'omt_1', text: 'in a topic' });
    expect(await message()).toMatchObject({ chatId: 'oc_team', threadId: 'omt_1', text: 'in a topic' });
  }),
  'thread out': play(async ({ server, message, send }) => {
    server.say({ ...GROUP, threadId: 'omt_1', messageId: 'om_question', text: 'in a topic' });
    const { replyContext = {} } = await message();
    await send({ chatId: 'oc_team', threadId: 'omt_1', text: 'one', key: 'a', replyContext });
    await send({ chatId: 'oc_team', threadId: 'omt_1', text: 'two', key: 'b', ordinal: 1, replyContext });
    expect(server.posts.map(({ parentId, inThread }) => [parentId, inThread])).toEqual([
      ['om_question', true],
      ['om_question', true],
    ]);
  }),
  'threads of its own': 'not built: an answer can begin a topic of the message that it replies to',
  'reply in': play(async ({ server, message, send }) => {
    await send({ chatId: 'oc_team', text: 'what we said', key: 'a' });
    const parentId = server.posts[0]?.id ?? '';
    server.say({ ...GROUP, parentId, text: 'and why?' });
    expect((await message()).replyTo).toEqual({ platformId: parentId, text: 'what we said', fromBot: true });
  }),
  'reply out': play(async ({ server, message, send }) => {
    server.say({ ...GROUP, messageId: 'om_question', text: 'who?' });
    const { replyContext = {} } = await message();
    await send({ chatId: 'oc_team', text: 'we', replyContext });
    expect(server.posts[0]).toMatchObject({ parentId: 'om_question', inThread: false });
  }),
  'earlier messages': play(async ({ server, channel, message }) => {
    server.compose({ ...GROUP, openId: 'ou_bob', text: 'lunch at one?', createTime: Date.now() - 1_000 });
    server.say({ ...GROUP, text: '@_user_1 where?', mentions: [mention('@_user_1', BOT_OPEN_ID, 'Gatehouse')] });
    const found = await channel.earlier?.(await message(), 30, signal);
    expect(found).toMatchObject([{ text: 'lunch at one?', senderId: 'ou_bob', fromBot: false }]);
  }),
  'reaction in': play(async ({ server, message, send }) => {
    await send({ text: 'done', key: 'a' });
    const id = server.posts[0]?.id;
    const event = {
      message_id: id,
      reaction_type: { emoji_type: 'THUMBSUP' },
      operator_type: 'user',
      user_id: { open_id: 'ou_ada' },
      action_time: String(Date.now()),
    };
    server.emit(feishuEvent('im.message.reaction.created_v1', event, server));
    server.emit(feishuEvent('im.message.reaction.deleted_v1', { ...event, action_time: '1' }, server));
    expect(await message(0)).toMatchObject({
      kind: 'reaction',
      targetId: id,
      text: '👍',
      senderId: 'ou_ada',
      chatId: 'oc_ou_ada',
    });
    expect(await message(1)).toMatchObject({ kind: 'reaction', targetId: id, text: '' });
  }),
  'reaction out': play(async ({ server, channel }) => {
    server.say({ messageId: 'om_question', text: 'please' });
    const target = { chatId: 'oc_ou_ada', platformId: 'om_question' };
    await channel.react?.(target, '👀', signal);
    await channel.react?.(target, '✅', signal);
    expect([...server.reactions.values()]).toEqual([{ messageId: 'om_question', emoji: 'DONE' }]);
    await channel.react?.(target, undefined, signal);
    expect(server.reactions.size).toBe(0);
  }),
  'edit in': 'the platform tells bots nothing of an edit',
  'delete in': play(async ({ server, message }) => {
    server.say({ messageId: 'om_question', text: 'oops' });
    server.emit(
      feishuEvent(
        'im.message.recalled_v1',
        { message_id: 'om_question', chat_id: 'oc_ou_ada', recall_time: String(Date.now()), recall_type: 'message_owner' },
        server,
      ),
    );
    expect(await message(1)).toMatchObject({
      kind: 'delete',
      targetId: 'om_question',
      chatId: 'oc_ou_ada',
      senderId: 'ou_ada',
      isGroup: false,
    });
  }),
  'edit out': play(async ({ server, channel, send }) => {
    const part = { channel: 'feishu', account: channel.account, chatId: 'oc_ou_ada', ordinal: 0, count: 1 };
    for (const [key, text] of Object.entries({ a: 'words', b: '**rich**', c: '- a card' })) {
      const sent = await send({ key, text });
      if (sent.kind !== 'sent') throw new Error('not sent');
      const edited = await channel.edit?.(sent.platformId, { ...part, key, text: `${text} and more` }, { plain: false, signal });
      expect(edited).toEqual(sent);
    }
    expect(server.posts.map((post) => [post.type, visibleText(post), post.edits])).toEqual([
      ['text', 'words and more', 1],
      ['post', 'rich and more', 1],
      ['interactive', '• a card and more', 1],
    ]);
  }),
  typing: 'the platform has no sign of typing that bots can show',
  buttons: play(async ({ server, channel, message, send }) => {
    expect(channel.buttons).toBe(true);
    server.say({ ...GROUP, messageId: 'om_question', text: 'may I?' });
    const { replyContext = {} } = await message();
    const choices = [
      { label: 'Yes, do it', value: 'approve 1' },
      { label: 'No', value: 'deny 1' },
    ];
    await send({ chatId: 'oc_team', text: 'Shall I?', choices, replyContext });
    const elements = server.posts[0]?.content['elements'] as { tag: string; actions?: { value: object }[] }[];
    const button = elements.at(-1)?.actions?.[0];
    server.emit(
      feishuEvent(
        'card.action.trigger',
        {
          operator: { open_id: 'ou_ada', tenant_key: 't' },
          token: 'c-1',
          action: { value: button?.value, tag: 'button' },
          host: 'im_message',
          context: { open_message_id: server.posts[0]?.id, open_chat_id: 'oc_team' },
        },
        server,
      ),
    );
    expect(await message(1)).toMatchObject({
      kind: 'message',
      text: 'approve 1',
      senderId: 'ou_ada',
      chatId: 'oc_team',
      isGroup: true,
      mentionsBot: true,
    });
  }),
  'command in': play(async ({ server, message }) => {
    server.say({ ...GROUP, text: '@_user_1 /status now', mentions: [mention('@_user_1', BOT_OPEN_ID, 'Gatehouse')] });
    expect(await message()).toMatchObject({ text: '/status now', mentionsBot: true });
  }),
  'select menu': 'not built: cards have menus; choices are buttons',
  'command answers for one person': 'not built: the platform can show a card to one person',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'not built: the platform lets apps add actions to the menu of a message',
  'mention in a group': play(async ({ server, message }) => {
    const mentions = [mention('@_user_1', BOT_OPEN_ID, 'Gatehouse'), mention('@_user_2', 'ou_eve', 'Eve')];
    server.say({ ...GROUP, text: 'hey @_user_1 ask @_user_2', mentions });
    server.say({ ...GROUP, text: '@_all and @_user_2', mentions: [mention('@_user_2', 'ou_eve', 'Gatehouse')] });
    expect(await message(0)).toMatchObject({ text: 'hey ask @Eve', mentionsBot: true, isGroup: true });
    expect(await message(1)).toMatchObject({ text: '@all and @Gatehouse', mentionsBot: false });
  }),
  'catch-up after a disconnect': play(async ({ server, message }) => {
    server.disconnect();
    server.say({ text: 'while you were away' });
    expect(await message()).toMatchObject({ text: 'while you were away' });
    await until('it is acknowledged', () => server.unacknowledged === 0);
  }),
  'second key': play(async ({ server, message }) => {
    const createTime = Date.now();
    server.say({ text: 'again', createTime, messageId: 'om_one' });
    server.say({ text: 'again', createTime, messageId: 'om_two' });
    const [one, two] = [await message(0), await message(1)];
    expect(one.platformId).not.toBe(two.platformId);
    expect(one.secondaryId).toBe(two.secondaryId);
  }),
  'proof of a send': play(async ({ server, send }) => {
    server.faults.push({ match: /^POST .*messages$/, kind: 'drop' });
    expect(await send({ text: 'once' })).toMatchObject({ kind: 'unknown' });
    expect(await send({ text: 'once' })).toMatchObject({ kind: 'sent' });
    expect(server.posts).toHaveLength(1);
  }),
};
