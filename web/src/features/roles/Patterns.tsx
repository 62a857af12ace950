import { useVocabulary } from '../../api/queries.ts'
import { named, namedBy } from '../../domain/catalog.ts'
import { t } from '../../text/en.ts'
import { r } from '../../text/roles.ts'
import { Id, Name } from '../../ui/Id.tsx'
import { Several } from '../../ui/Several.tsx'
import { Loaded } from '../../ui/States.tsx'
import { Tree } from './Tree.tsx'

const most = 200

/** The patterns of a role: chosen in the tree or typed, with the keys that they name. */
export function Patterns({ patterns, onChange }: { patterns: string[]; onChange: (patterns: string[]) => void }) {
  const words = useVocabulary()
  return (
    <Loaded of={words}>
      {of => {
        const keys = namedBy(of, patterns)
        return (
          <div className="columns">
            <Tree leaves={of.leaves} patterns={patterns} onChange={onChange} />
            <div className="stack">
              <section className="card">
                <Several
                  mono label={r.chosen} hint={r.chosenHint} value={patterns} onChange={onChange} choices={of.leaves.map(l => ({ id: l.key, note: l.description }))}
                  note={p => (/^(cloud|authz_internal)\./.test(p) ? null : <span className={named(of, p).length ? 'small dim' : 'tag mind'}>{t.roles.names(named(of, p).length)}</span>)}
                />
              </section>
              <section className="card" aria-label={r.keys}>
                <header><h2>{r.keys}</h2><span className="small dim">{r.count(keys.length)}</span></header>
                {keys.length > 0 && (
                  <ul className="list keys bounded" tabIndex={0} aria-label={r.keys}>
                    {keys.slice(0, most).map(l => <li key={l.key}><Id of={l.key} /><span className="row"><span className="small dim"><Name of={l.description} /></span>{l.destructive && <span className="tag no">{t.roles.destructive}</span>}</span></li>)}
                  </ul>
                )}
                {keys.length > most && <p className="small dim">{r.first(most)}</p>}
              </section>
            </div>
          </div>
        )
      }}
    </Loaded>
  )
}
