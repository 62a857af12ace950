import type { Explained, Grant } from '../../api/schema.gen.ts'
import { type Question, steps } from '../../domain/explanation.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'

/** An explanation as a text to paste. */
export function plainText(question: Question, e: Explained): string {
  const s = steps(question, e)
  const row = (g: Grant) => `${g.roleId ? 'role ' + g.roleId : g.pattern} to ${g.subject} at ${g.scope}`
  const out = [
    `${e.allowed ? 'ALLOWED' : 'DENIED'}  ${question.subject} ${e.allowed ? 'may' : 'may not'} ${question.key} at ${question.scope}`,
    `  ${t.explain.reasons[s.reason]}`,
    ...s.revokes.map(r => `  revoke ${r.id}  ${r.pattern} from ${question.subject} at ${r.scope}`),
    ...s.routes.flatMap(r => [
      `  grant ${r.grant.id}  ${row(r.grant)}`,
      `    ${[question.subject, ...r.through, r.role && `role "${r.role}"`, r.pattern, question.key].filter(Boolean).join(' → ')}`,
    ]),
    ...s.expired.map(g => `  expired ${g.id}  ${row(g)}, ${g.expiresAt ? new Date(g.expiresAt).toISOString() : ''}`),
    ...(s.near?.elsewhere ?? []).map(g => `  elsewhere ${g.id}  ${row(g)}`),
    ...(s.near?.notGrantable ?? []).map(g => `  does not count ${g.id}  ${row(g)}`),
    `  chain ${s.chain.join(' → ')}`,
  ]
  return out.map(visible).join('\n') + '\n'
}
