import { z } from 'zod';
import { diskSection } from './sections/disk.ts';
import { gatewaySection } from './sections/gateway.ts';
import { heartbeatSection } from './sections/heartbeat.ts';
import { hooksSection } from './sections/hooks.ts';
import { limitsSection } from './sections/limits.ts';
import { mcpServers } from './sections/mcp.ts';
import { mcpClients } from './sections/mcp-clients.ts';
import { adaptiveRouting, budgetSection, embeddingSection, transcriptionSection } from './sections/model.ts';
import { fallbackModel, namedModels, purposes, reach, thinkingLevel } from './sections/model-entry.ts';
import { questionsSection } from './sections/questions.ts';
import { sandboxSection } from './sections/sandbox.ts';
import { securitySection } from './sections/security.ts';
import { subagentsSection } from './sections/subagents.ts';
import { tasksSection } from './sections/tasks.ts';
import { contextFilter, policyByProvider, toolPolicySection } from './sections/tool-policy.ts';
import { webSection } from './sections/web.ts';

/** The version this program writes and reads; older files are brought up to it by `migrate.ts`. */
export const CONFIG_VERSION = 1;

/**
 * The whole config file. Keys are the operator's, in snake_case, and only what this version honours, because
 * a key that does nothing would promise something. Times stay in the unit their names state; `src/app`
 * converts them.
 */
export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('Where editors find the schema of this file.'),
  version: z.literal(CONFIG_VERSION).default(CONFIG_VERSION).describe('Version of this file format.'),
  provider: z
    .string()
    .min(1)
    .optional()
    .describe('Model provider. Default: found from the model, the environment or a local server.'),
  model: z.string().min(1).optional().describe("Model name as the provider knows it. Default: the provider's own choice."),
  ...reach,
  fallback_models: z
    .array(fallbackModel)
    .max(16)
    .default([])
    .describe('Models that take over when the main one fails, in order.'),
  models: namedModels,
  purposes,
  thinking: thinkingLevel
    .default('auto')
    .describe(
      'How much the models think before they answer. auto: as each does by default. /think sets it for one conversation.',
    ),
  adaptive_routing: adaptiveRouting.optional(),
  budget: budgetSection.optional(),
  embedding: embeddingSection.optional(),
  transcription: transcriptionSection.optional(),
  max_iterations: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Model calls one message may cause. The model is told to come to an end from four fifths of them on. Default: 50, and 20 in `gatehouse chat`.',
    ),
  gateway: gatewaySection,
  disk: diskSection,
  limits: limitsSection,
  subagents: subagentsSection,
  tasks: tasksSection,
  tool_policy: toolPolicySection,
  tool_policy_by_provider: policyByProvider,
  context_filter: contextFilter,
  hooks: hooksSection,
  heartbeat: heartbeatSection,
  questions: questionsSection,
  mcp_servers: mcpServers,
  mcp_clients: mcpClients,
  sandbox: sandboxSection.optional(),
  security: securitySection,
  web: webSection,
  require_model: z.boolean().default(false).describe('Refuse to start without a real model instead of answering with the demo.'),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Least important lines that are logged.'),
    })
    .prefault({})
    .describe('Logging.'),
});

/** A checked config with every default filled in. */
export type Config = z.output<typeof configSchema>;
