const PARAGRAPH = `Deploy **NUMBER** went out at *14:05* and is ~~healthy~~ degraded: \`checkout\` answers in 480 ms instead of
120 ms, see the [dashboard](https://grafana.example.org/d/abc?from=now-1h) and https://status.example.org for the rest.`;

const BLOCK = `## What happened

${PARAGRAPH}

1. The migration \`2026_03_add_index\` took a lock on **orders**
2. Requests waited; the *pool* ran dry
   - 64 connections, all busy
   - retries made it worse
3. The canary did not see it, because it only reads

> It will happen again unless the migration runs *concurrently*.
> That is what the runbook says.

| service | before | after |
|---|---:|---:|
| checkout | 120 ms | 480 ms |
| search | 80 ms | 85 ms |
| login | 60 ms | 61 ms |

\`\`\`sql
CREATE INDEX CONCURRENTLY orders_by_day ON orders (created_at);
SELECT count(*) FROM orders WHERE created_at > now() - interval '1 day';
\`\`\`

- [x] rolled back
- [ ] write the post-mortem, with *all* times & <names>
- [ ] tell the team at ops@example.org

---
`;

/**
 * 4,000 characters as models answer: headings, lists, tables, code, links and running text. A number in the
 * place of `NUMBER` makes a text different from the others.
 */
export const MIXED_MARKDOWN = BLOCK.repeat(4).slice(0, 4_000);
