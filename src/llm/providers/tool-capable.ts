/**
 * Model families that call tools, as Ollama names them: its /api/tags does not say it, and a model without tools is no agent.
 * From the "tools" tag of Ollama's library.
 */
const TOOL_CAPABLE_FAMILIES: readonly string[] = [
  'llama3.1',
  'llama3.2',
  'llama3.3',
  'llama4',
  'llama3-groq-tool-use',
  'qwen2',
  'qwen2.5',
  'qwen2.5-coder',
  'qwen3',
  'qwen3-coder',
  'qwen3-next',
  'qwen3-vl',
  'qwen3.5',
  'qwq',
  'mistral',
  'mistral-nemo',
  'mistral-small',
  'mistral-small3.1',
  'mistral-small3.2',
  'mistral-large',
  'ministral-3',
  'mixtral',
  'magistral',
  'devstral',
  'command-r',
  'command-r-plus',
  'command-r7b',
  'command-a',
  'gpt-oss',
  'deepseek-r1',
  'deepseek-v3.1',
  'granite3-dense',
  'granite3-moe',
  'granite3.1-dense',
  'granite3.1-moe',
  'granite3.2',
  'granite3.3',
  'granite4',
  'hermes3',
  'phi4-mini',
  'cogito',
  'smollm2',
  'nemotron',
  'nemotron-mini',
  'firefunction-v2',
  'athene-v2',
  'glm-4.6',
  'glm-4.7-flash',
  'kimi-k2',
  'minimax-m2',
];

/** `registry/user/qwen3:4b` -> is `qwen3` in the list? */
export function isToolCapable(model: string): boolean {
  const family = model.split('/').at(-1)?.split(':')[0]?.toLowerCase() ?? '';
  return TOOL_CAPABLE_FAMILIES.includes(family);
}
