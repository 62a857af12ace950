import { Link } from '@tanstack/react-router'
import { useAsk, useVocabulary } from '../../api/queries.ts'
import type { Request } from '../../api/schema.gen.ts'
import { named } from '../../domain/catalog.ts'
import { typeOf } from '../../domain/scopes.ts'
import { t } from '../../text/en.ts'
import { Id, Name, ScopeName, Time } from '../../ui/Id.tsx'
import { Failed } from '../../ui/States.tsx'

export function State({ of }: { of: string }) {
  return <span className={of === 'approved' ? 'tag yes' : of === 'denied' ? 'tag no' : of === 'pending' ? 'tag mind' : 'tag'}>{t.requests.states[of] ?? of}</span>
}

/** A request as it was made. */
export function Facts({ org, request: r }: { org: string; request: Request }) {
  const words = useVocabulary()
  const policy = r.roleId ? words.data?.roles.find(role => role.id === r.roleId)?.requestable : words.data?.types.find(x => x.type === typeOf(r.scope))?.policy
  const question = (prompt: string) => policy?.prompts?.find(p => p.id === prompt)?.label ?? prompt
  return (
    <dl className="facts">
      <dt>{t.inbox.who}</dt><dd><Link to="/orgs/$org/people/$id" params={{ org, id: r.requesterUserId }}><Name of={r.requesterUserId} /></Link></dd>
      <dt>{t.inbox.what}</dt><dd>{r.roleId ? <Link to="/orgs/$org/roles/$id" params={{ org, id: r.roleId }}><Name of={r.roleId} /></Link> : <Id of={r.pattern ?? ''} />}</dd>
      <dt>{t.grants.scope}</dt><dd><ScopeName of={r.scope} /></dd>
      {Object.entries(r.justification).map(([prompt, text]) => <div className="pair" key={prompt}><dt><Name of={question(prompt)} /></dt><dd><Name of={text} /></dd></div>)}
      <dt>{t.inbox.ends}</dt><dd>{r.proposedExpiresAt ? <Time at={r.proposedExpiresAt} /> : t.grants.forever}</dd>
      <dt>{t.inbox.askedAt}</dt><dd><Time at={r.createdAt} /></dd>
      {r.decidedAt ? <><dt>{t.requests.decidedAt}</dt><dd><Time at={r.decidedAt} /></dd></> : <><dt>{t.inbox.stage}</dt><dd>{t.inbox.stageOf(Math.min(r.stageIndex + 1, r.stages.length), r.stages.length)}</dd></>}
    </dl>
  )
}

/** So many keys are shown without being asked for. */
const few = 10

/** The keys that an approval would give. Patterns are null where the role has them. */
export function Given({ org, roleId, patterns }: { org: string; roleId: string; patterns: string[] | null }) {
  const words = useVocabulary()
  // Who only asks may not read roles, and is told those that may be asked for.
  const told = words.data?.roles.find(r => r.id === roleId)
  const role = useAsk('GET /orgs/{org}/org/roles/{id}', { path: { org, id: roleId } }, { on: patterns === null && words.data !== undefined && !told })
  const found = patterns ?? told?.patterns ?? role.data?.role.patterns ?? []
  const keys = words.data ? found.flatMap(p => named(words.data, p)) : []
  if (role.error) return <Failed of={role.error} retry={() => void role.refetch()} />
  return (
    <details open={keys.length > 0 && keys.length <= few}>
      <summary>{t.inbox.gives(keys.length)}</summary>
      <ul className="stack tight">{keys.map(k => <li key={k.key}>{k.description && <><Name of={k.description} /> </>}<span className="small dim"><Id of={k.key} /></span> {k.destructive && <span className="tag no">{t.roles.destructive}</span>}</li>)}</ul>
    </details>
  )
}
