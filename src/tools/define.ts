import { z } from 'zod';
import type { Tool, ToolContext, ToolResult } from '../core/tool.ts';
import { PathRefusal } from '../workspace/path.ts';

export interface ToolDefinition<Schema extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  /** A strict object: an argument the tool does not know is a mistake the model should hear of. */
  readonly schema: Schema;
  readonly tags: readonly string[];
  readonly readOnly: boolean;
  readonly needs?: Tool['needs'];
  /** Spec C4; default 50,000. */
  readonly outputBytes?: number;
  /** Returns what the model reads. Throws `ToolFailure` or `PathRefusal` for what the model can mend; anything else is a defect. */
  readonly run: (args: z.output<Schema>, context: ToolContext) => Promise<string | Omit<ToolResult, 'ok'>>;
}

/** A failure whose text is written for the model. */
export class ToolFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ToolFailure';
  }
}

/** A `Tool` from its parts: arguments are checked before `run` sees them, and expected failures become results. */
export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, schema, tags, readOnly, needs, outputBytes = 50_000, run } = definition;
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' });
  return {
    name,
    description,
    parameters,
    tags,
    readOnly,
    ...(needs === undefined ? {} : { needs }),
    outputBytes,
    async run(args, context) {
      const parsed = schema.safeParse(args);
      if (!parsed.success) return { ok: false, output: `Error: invalid arguments for ${name}: ${problems(parsed.error)}` };
      try {
        const result = await run(parsed.data, context);
        return { ok: true, ...(typeof result === 'string' ? { output: result } : result) };
      } catch (error) {
        if (error instanceof ToolFailure || error instanceof PathRefusal) return { ok: false, output: `Error: ${error.message}` };
        throw error;
      }
    },
  };
}

/** Every problem with the place it is in, so that one more try can mend them all. */
function problems(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ');
}
