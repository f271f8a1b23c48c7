import { z } from 'zod';
import type { RunScope, Tool, ToolContext, ToolFacts, ToolKit, ToolResult } from '../core/tool.ts';
import { PathRefusal } from '../workspace/path.ts';
import { WorkspaceBusy } from '../workspace/workspace-lock.ts';

interface Described<Schema extends z.ZodObject>
  extends Pick<
    Tool,
    | 'name'
    | 'description'
    | 'tags'
    | 'effect'
    | 'idempotent'
    | 'act'
    | 'single'
    | 'needs'
    | 'ownerOnly'
    | 'rule'
    | 'reads'
    | 'approval'
    | 'bindsWorkspace'
  > {
  /** A strict object: an argument the tool does not know is a mistake the model should hear of. */
  readonly schema: Schema;
  /**
   * Makes arguments as agents of other platforms name them into those of `schema`. A model is not told of
   * them, since each word of a description is paid for. Called with arguments that nothing has checked: must
   * not throw.
   */
  readonly otherNames?: (args: unknown) => unknown;
  /** Spec C4; default 50,000. */
  readonly outputBytes?: number;
}

/** What the model reads, alone or with what goes with it. */
type Output = string | Omit<ToolResult, 'ok'>;

export interface ToolDefinition<Schema extends z.ZodObject> extends Described<Schema> {
  /** Throws `ToolFailure` or `PathRefusal` for what the model can mend; anything else is a defect. */
  readonly run: (args: z.output<Schema>, context: ToolContext) => Promise<Output>;
}

export interface BoundToolDefinition<Schema extends z.ZodObject, Port> extends Described<Schema> {
  /** What the tool needs of its run. Undefined = the run does not have it, and is not offered the tool. */
  readonly bind: (scope: RunScope) => Port | undefined;
  /** What of the facts depends on the run. Called once, with what `bind` returned. */
  readonly judge?: (port: Port) => Partial<Pick<Tool, 'effect' | 'idempotent' | 'act' | 'approval'>>;
  /** As `ToolDefinition.run`, with what `bind` returned. */
  readonly run: (args: z.output<Schema>, context: ToolContext, port: Port) => Promise<Output>;
}

/** A kit of one tool, which is known also where no run is. */
export type KnownKit = ToolKit & { readonly facts: ToolFacts };

/** A failure whose text is written for the model. */
export class ToolFailure extends Error {
  /** As `ToolResult.taint`. */
  readonly taint: number | undefined;

  constructor(message: string, taint?: number) {
    super(message);
    this.name = 'ToolFailure';
    this.taint = taint;
  }
}

/** What a failure says to the model; undefined = it was not written for it. */
export function failureText(error: unknown): string | undefined {
  const isForModel = error instanceof ToolFailure || error instanceof PathRefusal || error instanceof WorkspaceBusy;
  return isForModel ? error.message : undefined;
}

/**
 * A tool that needs nothing but its call. Arguments are checked before `run` sees them, and expected failures
 * become results.
 */
export function defineTool<Schema extends z.ZodObject>({ run, ...facts }: ToolDefinition<Schema>): Tool {
  return Object.assign(described(facts), { run: checked(facts, run) });
}

/**
 * A tool that needs something of its run, otherwise as `defineTool`.
 *
 *     export const react = defineBoundTool({ name: 'react', …, bind: ({ answer }) => answer?.react,
 *       run: async ({ emoji }, { signal }, put) => { await put(emoji, signal); return 'Reacted'; } });
 */
export function defineBoundTool<Schema extends z.ZodObject, Port>(definition: BoundToolDefinition<Schema, Port>): KnownKit {
  const { bind, judge, run, ...facts } = definition;
  // Made once: the schema of the arguments is the same for every run.
  const tool = described(facts);
  let plain: ToolFacts | undefined;
  const kit: ToolKit = (scope) => {
    const port = bind(scope);
    if (port === undefined) return [];
    // Without the getter of `parameters`: an object that has one is copied ten times slower, in each turn.
    plain ??= { ...tool };
    return [{ ...plain, ...judge?.(port), run: checked(facts, (args, context) => run(args, context, port)) }];
  };
  return Object.assign(kit, { facts: tool });
}

/** A kit of one tool that every run gets. */
export function unbound(tool: Tool): KnownKit {
  return Object.assign(() => [tool], { facts: tool });
}

function described<Schema extends z.ZodObject>(definition: Described<Schema>): ToolFacts {
  const { schema, otherNames: _names, outputBytes = 50_000, ...facts } = definition;
  return {
    ...facts,
    outputBytes,
    // Made at the first use: a start has some sixty tools, and is asked for none.
    get parameters() {
      return parametersOf(schema);
    },
  };
}

/** By schema: a tool that is made anew for each model call has one, and to convert it costs 0.3 ms. */
const PARAMETERS = new WeakMap<z.ZodObject, Tool['parameters']>();

function parametersOf(schema: z.ZodObject): Tool['parameters'] {
  const known = PARAMETERS.get(schema);
  if (known) return known;
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => shorten(jsonSchema),
  });
  PARAMETERS.set(schema, parameters);
  return parameters;
}

/**
 * Takes out what tells a model nothing and is paid for with each call; arguments are checked by `schema` all
 * the same.
 */
function shorten(node: z.core.JSONSchema.BaseSchema): void {
  if (node.additionalProperties === false) delete node.additionalProperties;
  for (const key of ['minLength', 'maxLength', 'minimum', 'maxItems', 'minItems'] as const) delete node[key];
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.default === false || node.default === 0) delete node.default;
}

function checked<Schema extends z.ZodObject>(
  { name, schema, otherNames = (args) => args }: Described<Schema>,
  run: ToolDefinition<Schema>['run'],
): Tool['run'] {
  return async (args, context) => {
    const parsed = schema.safeParse(otherNames(args));
    if (!parsed.success) return { ok: false, output: `Error: invalid arguments for ${name}: ${problems(parsed.error)}` };
    try {
      const result = await run(parsed.data, context);
      return { ok: true, ...(typeof result === 'string' ? { output: result } : result) };
    } catch (error) {
      const text = failureText(error);
      if (text === undefined) throw error;
      const taint = error instanceof ToolFailure ? error.taint : undefined;
      return { ok: false, output: `Error: ${text}`, ...(taint === undefined ? {} : { taint }) };
    }
  };
}

/** Every problem with the place it is in, so that one more try can mend them all. */
function problems(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ');
}
