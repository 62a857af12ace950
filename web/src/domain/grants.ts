import type { Grant } from '../api/schema.gen.ts'

/** Grants as a file that `authz apply` reads. */
export function applyFile(grants: Grant[]): string {
  const lines = ['name: from-the-dashboard', 'grants:']
  for (const g of grants) {
    const what = g.roleId ? `role: ${JSON.stringify(g.roleId)}` : `pattern: ${JSON.stringify(g.pattern ?? '')}`
    const until = g.expiresAt ? `, expires: ${JSON.stringify(new Date(g.expiresAt).toISOString())}` : ''
    lines.push(`  - { subject: ${JSON.stringify(g.subject)}, ${what}, scope: ${JSON.stringify(g.scope)}${until} }`)
  }
  return lines.join('\n') + '\n'
}
