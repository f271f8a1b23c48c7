// The bot that one writes first: grammY, the provider's SDK, and nothing else. It keeps no history and
// forgets what it was doing when it dies.
// Arguments: API_ROOT MODEL_BASE_URL MODE (`in-turn`: grammY's default, one update after the other;
// `at-once`: all that come; `ten-at-once`: as many as the daemon's default allows)
import { Bot, type Context } from 'grammy';
import OpenAI from 'openai';
import PQueue from 'p-queue';

const [apiRoot = '', baseURL = '', mode = 'in-turn'] = process.argv.slice(2);
const bot = new Bot(process.env['BENCH_BOT_TOKEN'] ?? '', { client: { apiRoot } });
const openai = new OpenAI({ baseURL, apiKey: process.env['BENCH_MODEL_KEY'] ?? '', maxRetries: 0 });

const queue = new PQueue({ concurrency: mode === 'ten-at-once' ? 10 : Number.POSITIVE_INFINITY });

async function answer(ctx: Context, content: string): Promise<void> {
  const stream = await openai.chat.completions.create({ model: 'bench', stream: true, messages: [{ role: 'user', content }] });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  await ctx.reply(text);
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
}

bot.on('message:text', async (ctx) => {
  const answered = queue.add(() => answer(ctx, ctx.message.text));
  if (mode === 'in-turn') await answered;
  else answered.catch(fail);
});
bot.catch(fail);
process.once('SIGTERM', () => void bot.stop().catch(fail));
await bot.start({ onStart: () => void process.stdout.write('ready\n') });
process.exit(0);
