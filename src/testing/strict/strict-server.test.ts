import { describe, expect, it } from 'vitest';
import { FakeClock, until } from '../fakes.ts';
import { deepseek } from './deepseek.ts';
import { openAiChat } from './openai-chat.ts';
import { KEY, post, read, user } from './strict-client.ts';
import { startStrictServer } from './strict-server.ts';

const ASK = { model: 'gpt-4o', messages: [user()] };

describe('a strict server', () => {
  it('lists the models that exist, without the retired', async () => {
    await using server = await startStrictServer(openAiChat, () => ({}), { models: ['gpt-4o', 'gpt-4'], retired: ['gpt-4'] });
    const response = await fetch(`${server.baseUrl}/models`, { headers: { authorization: `Bearer ${KEY}` } });
    expect(await response.json()).toMatchObject({ object: 'list', data: [{ id: 'gpt-4o', object: 'model' }] });
    expect((await fetch(`${server.baseUrl}/models`)).status).toBe(401);
  });

  it('answers with what the script says and keeps its own refusals apart from the scripted ones', async () => {
    const refusal = { status: 429, body: { error: { message: 'Slow down' } }, headers: { 'retry-after': '3' } };
    await using server = await startStrictServer(openAiChat, (_request, nth) => (nth === 0 ? refusal : { text: `call ${nth}` }));
    expect(await post(server, ASK)).toEqual({ status: 429, body: refusal.body });
    expect((await post(server, ASK)).body).toContain('call 1');
    expect(await post(server, { ...ASK, thinking: {} })).toMatchObject({ status: 400 });
    expect(server.requests).toHaveLength(3);
    expect(server.refusals.map(({ refusal: { status } }) => status)).toEqual([400]);
    expect(server.billed).toMatchObject({ in: 24, out: 2 });
  });

  it('bills the whole answer when it breaks the connection after some of it', async () => {
    const turn = { text: 'A long answer that is never read to its end', cutAfterEvents: 2, usage: { in: 50, out: 20 } };
    await using server = await startStrictServer(openAiChat, () => turn);
    await expect(read(server, ASK)).rejects.toThrow();
    expect(server.billed).toMatchObject({ in: 50, out: 20 });
  });

  it('breaks a stream off with an error, and cuts the arguments of a call where the answer ends by length', async () => {
    const calls = [{ name: 'write_file', args: { text: 'a long text' } }];
    const turns = [
      { text: 'Half', error: { status: 500, message: 'The server had an error' } },
      { calls, stop: 'length' as const },
    ];
    await using server = await startStrictServer(openAiChat, (_request, nth) => turns[nth] ?? {});
    await expect(read(server, ASK)).rejects.toThrow('The server had an error');
    const { body } = await post(server, ASK);
    expect(body).toContain('"finish_reason":"length"');
    expect(body).toContain('{\\"text\\":\\"a "');
  });

  it('keeps silent by its clock, with signs of life where they are asked for', async () => {
    const clock = new FakeClock();
    const turns = [
      { text: 'Done.', silentMs: 25_000, signsOfLife: true },
      { text: 'Done.', silentMs: 25_000 },
    ];
    await using server = await startStrictServer(deepseek, (_request, nth) => turns[nth] ?? {}, { clock });
    const ask = { ...ASK, model: 'deepseek-flash' };
    for (const signs of [3, 0]) {
      let isAnswered = false;
      const answer = post(server, ask).finally(() => {
        isAnswered = true;
      });
      while (!isAnswered) {
        await until('the server is silent or has answered', () => isAnswered || clock.sleeping > 0);
        await clock.advance(5_000);
      }
      expect(String((await answer).body).split(': keep-alive\n\n')).toHaveLength(signs + 1);
    }
  });

  it('is silent in the middle of an answer, and names another model than the one asked for', async () => {
    await using server = await startStrictServer(openAiChat, () => {
      return { text: 'Done.', silentMs: 30, silentAfterEvents: 1, servedModel: 'gpt-4o-2024-11-20' };
    });
    expect((await read(server, ASK)).every(({ model }) => model === 'gpt-4o-2024-11-20')).toBe(true);
  });

  it('counts a picture as a fixed number of tokens', async () => {
    await using server = await startStrictServer(openAiChat, () => ({ text: 'A cat.' }));
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400_000)}` } };
    await post(server, { model: 'gpt-4o', messages: [{ role: 'user', content: [picture] }] });
    expect(server.billed.in).toBeGreaterThan(1_000);
    expect(server.billed.in).toBeLessThan(1_100);
  });

  it('refuses an address that it does not have', async () => {
    await using server = await startStrictServer(openAiChat, () => ({}));
    const response = await fetch(`${server.baseUrl}/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: '{}',
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { message: 'Invalid URL (POST /v1/completions)' } });
  });
});
