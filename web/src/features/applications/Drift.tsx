import { holds } from '../../api/gates.ts'
import { useAsk, useMe } from '../../api/queries.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Id, Name, ScopeName, SubjectName } from '../../ui/Id.tsx'
import { Loaded } from '../../ui/States.tsx'

const words = apps.catalog
const key = 'cloud.registry.read'

/** Roles, grants and imports of the application that name keys which the registry lacks. */
export function Drift({ org, application }: { org: string; application: string }) {
  const me = useMe()
  const may = holds(me.data, key) === 'yes'
  const drift = useAsk('GET /orgs/{org}/registry/drift', { path: { org } }, { on: may })
  if (!may) return null
  return (
    <section className="card stack close" aria-label={words.drift}>
      <header><h2>{words.drift}</h2></header>
      <p className="dim small">{words.driftHint}</p>
      <Loaded of={drift} lines={2}>
        {({ roles, grants, imports, unavailable }) => {
          const of = <T extends { application: string }>(list: T[]) => list.filter(d => d.application === application)
          const silent = unavailable.find(u => u.application === application)
          const missing = (list: Array<{ pattern: string; reason: string }>) => list.map(m => <span key={m.pattern} className="row inline"><Id of={m.pattern} /> <span className="tag mind">{m.reason === 'tombstoned' ? words.tombstoned : words.unpublished}</span></span>)
          const none = of(roles).length + of(grants).length + of(imports).length === 0
          return (
            <>
              {silent && <p role="alert"><span className="tag no">{t.home.silent}</span> <code>{silent.code}</code></p>}
              {none && !silent && <p className="dim">{words.noDrift}</p>}
              <ul className="list bounded">
                {of(roles).map(r => <li key={r.roleId}><span className="grow"><Name of={r.name} /> <Id of={r.roleId} /></span>{missing(r.missing)}</li>)}
                {of(grants).map(g => <li key={g.grantId}><span className="grow"><SubjectName of={g.subject} /> <span className="dim"><ScopeName of={g.scope} /></span></span>{missing(g.missing)}</li>)}
                {of(imports).map(i => <li key={i.pattern}><span className="grow"><Name of={i.message} /></span></li>)}
              </ul>
            </>
          )
        }}
      </Loaded>
    </section>
  )
}
