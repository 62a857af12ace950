import { useVocabulary } from '../../api/queries.ts'
import { namedBy } from '../../domain/catalog.ts'
import { beyond } from '../../domain/plans.ts'
import { r } from '../../text/roles.ts'
import { Id } from '../../ui/Id.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'

const most = 100

/** What a role's patterns were and will be, and which keys come and go with them. */
export function Difference({ before, after, first }: { before: string[]; after: string[]; first: Step[] }) {
  const words = useVocabulary()
  const keys = (patterns: string[]) => (words.data ? namedBy(words.data, patterns).map(l => l.key) : [])
  const gained = beyond(keys(after), keys(before))
  const lost = beyond(keys(before), keys(after))
  return (
    <>
      <Plan
        steps={[
          ...first,
          ...beyond(after, before).map(p => ({ sign: '+' as const, text: <Id of={p} /> })),
          ...beyond(before, after).map(p => ({ sign: '−' as const, text: <Id of={p} /> })),
        ]}
      />
      {words.data && (
        <div className="stack tight">
          {gained.length + lost.length === 0 && <p className="dim">{r.sameKeys}</p>}
          {[[gained, r.gains(gained.length)] as const, [lost, r.loses(lost.length)] as const].map(([list, told]) => list.length > 0 && (
            <details key={told}>
              <summary>{told}</summary>
              <ul className="stack tight nested bounded">{list.slice(0, most).map(k => <li key={k}><Id of={k} /></li>)}{list.length > most && <li className="small dim">{r.first(most)}</li>}</ul>
            </details>
          ))}
        </div>
      )}
    </>
  )
}
