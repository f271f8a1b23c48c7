/**
 * Names of tools that the gateway has or will have (spec G1, G9): no other source may have a tool of such a
 * name, since a model could take the one for the other.
 */
const RESERVED: ReadonlySet<string> = new Set([
  ...['read_file', 'write_file', 'edit_file', 'diff_edit', 'glob', 'grep', 'list_dir', 'code_structure', 'git', 'shell'],
  ...['web_search', 'web_fetch', 'browser', 'deep_search', 'synthesize_research', 'deep_crawl'],
  ...['message', 'send_file', 'send_email', 'take_photo', 'attach_file', 'react', 'offer_choices', 'wait', 'ask_human'],
  ...['spawn', 'dispatch_subagent', 'cron', 'run_pipeline', 'recall_memory', 'save_memory', 'memory_search'],
  ...['configure_tool', 'manage_skills', 'model_check', 'activate_tools', 'read_document', 'convert_markdown_to_docx'],
]);

/** However it is written: `Read-File` is `read_file`. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'));
}
