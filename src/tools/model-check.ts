import { z } from 'zod';
import type { ListedModel, ModelBook } from '../core/model-book.ts';
import { oneLine } from '../lib/one-line.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

const schema = z.strictObject({
  action: z.enum(['list', 'switch']),
  model: z.string().trim().min(1).max(200).optional().describe('For switch: a name of the list, or default'),
});

/** A switch changes what later runs do and cost, for all people of the chat. */
export const modelCheck = defineBoundTool({
  name: 'model_check',
  description:
    'list: the models that can answer here, with price and health. switch: another one answers from the next message on.',
  schema,
  tags: ['admin'],
  effect: 'outside',
  idempotent: true,
  act: (args) => (isListing(args) ? 'none' : 'setting'),
  bind: ({ modelBook }) => modelBook,
  run: async ({ action, model }, _call, book) => (action === 'list' ? await list(book) : await choose(model, book)),
});

/** Of arguments that may be anything. */
function isListing(args: unknown): boolean {
  return typeof args === 'object' && args !== null && 'action' in args && args.action === 'list';
}

async function list(book: ModelBook): Promise<string> {
  const { models, current, from } = await book.list();
  return [`Here answers ${current}, ${from}.`, ...models.map(lineOf)].join('\n');
}

async function choose(model: string | undefined, book: ModelBook): Promise<string> {
  if (model === undefined) throw new ToolFailure('switch needs a model');
  const made = await book.choose(model);
  if (made.kind === 'chosen') return `From the next message on, ${made.name} answers here. /model default goes back.`;
  if (made.kind === 'refused') throw new ToolFailure('in a group only the owner can change the model; nothing was changed');
  const names = (await book.list()).models.map(({ name }) => name);
  throw new ToolFailure(`there is no model ${oneLine(model, 100)}. There are: ${[...names, 'default'].join(', ')}`);
}

function lineOf({ name, id, description, price, health }: ListedModel): string {
  const parts = [
    ...(name === id ? [] : [id]),
    priceText(price),
    ...(health ? [healthText(health)] : []),
    ...(description === undefined ? [] : [oneLine(description, 200)]),
  ];
  return `- ${name}: ${parts.join('; ')}`;
}

function priceText(price: ListedModel['price']): string {
  if (!price) return 'price not known';
  if (price.in === 0 && price.out === 0) return 'costs nothing';
  return `${price.guess ? 'at most ' : ''}${price.in} in, ${price.out} out (USD per million tokens)`;
}

function healthText({ isLeftAlone, errorRate }: NonNullable<ListedModel['health']>): string {
  const failed = `${Math.round(errorRate * 100)} % of its last calls failed`;
  return isLeftAlone ? `left alone for now, ${failed}` : failed;
}
