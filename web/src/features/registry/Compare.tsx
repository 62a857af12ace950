import { useMemo } from 'react'
import { useAsk } from '../../api/queries.ts'
import { type Document, differences } from '../../domain/documents.ts'
import { visible } from '../../domain/visible.ts'
import { registry as t } from '../../text/registry.ts'
import { Button } from '../../ui/Button.tsx'
import { Id } from '../../ui/Id.tsx'
import { save } from '../../ui/save.ts'
import { Failed, Waiting } from '../../ui/States.tsx'

const few = 300

/** What the later of two versions has otherwise. */
export function Compare({ org, ns, from, to }: { org: string; ns: string; from: number; to: number }) {
  const before = useAsk('GET /orgs/{org}/registry/{ns}/document', { path: { org, ns }, query: { version: from } })
  const after = useAsk('GET /orgs/{org}/registry/{ns}/document', { path: { org, ns }, query: { version: to } })
  const told = useMemo(() => (before.data && after.data ? differences(before.data as Document, after.data as Document) : null), [before.data, after.data])
  for (const of of [before, after]) if (of.error) return <Failed of={of.error} retry={() => void of.refetch()} />
  if (!told) return <Waiting lines={3} />
  const { list, others } = told
  const count = (sign: string) => list.filter(d => d.sign === sign).length
  return (
    <>
      <div className="row far">
        <p>{list.length === 0 && others.length === 0 ? t.same : t.counts(count('+'), count('−'), count('→'))}</p>
        <Button small onPress={() => save(new Blob([JSON.stringify(after.data, null, 2) + '\n'], { type: 'application/json' }), `${ns}-${to}.json`)}>{t.save}</Button>
      </div>
      {others.length > 0 && <p className="dim">{t.others(others.map(visible))}</p>}
      <ul className="plan compared">
        {list.slice(0, few).map(d => (
          <li key={`${d.kind} ${d.id}`} className={d.sign === '+' ? 'add' : d.sign === '−' ? 'take' : undefined}>
            <span className="sign">{d.sign}</span>
            <span>
              <Id of={d.id} /> <span className="dim small">{t.kinds[d.kind]}</span>
              {d.members.map(m => <span key={m.name} className="member small"><span className="dim">{visible(m.name)}</span> <Id of={m.before ?? t.nothing} /> <span className="dim">→</span> <strong><Id of={m.after ?? t.nothing} /></strong></span>)}
            </span>
          </li>
        ))}
      </ul>
      {list.length > few && <p className="small dim">{t.first(few)}</p>}
    </>
  )
}
