import { useAsk } from '../../api/queries.ts'
import type { Application, Mesh } from '../../api/schema.gen.ts'
import { apps } from '../../text/applications.ts'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Empty, Loaded } from '../../ui/States.tsx'

const words = apps.mesh

/** The mesh that the application is in: who belongs to it, and who reaches whom. */
export function MeshOf({ org, of: a }: { org: string; of: Application }) {
  const asked = useAsk('GET /orgs/{org}/applications/{app}/mesh', { path: { org, app: a.id } }, { on: a.state !== 'registered' })
  if (a.state === 'registered') return <Empty title={apps.access.notLinked} />
  return (
    <Loaded of={asked}>
      {({ mesh }) => (!mesh ? <Empty title={words.none}><p>{words.noneHint}</p></Empty> : !mesh.registry ? <Empty title={words.noRegistry} /> : <Registry of={mesh.registry} own={mesh.partition} />)}
    </Loaded>
  )
}

function Registry({ of: r, own }: { of: Mesh; own: string }) {
  return (
    <div className="columns">
      <section className="card stack" aria-label={words.members}>
        <header><h2>{words.members}</h2></header>
        <ul className="list">
          {r.members.map(m => (
            <li key={m.partition}>
              <span className="grow"><Id of={m.partition} /> {m.partition === own && <span className="tag">{words.self}</span>} {m.partition === r.org?.partition && <span className="tag">{words.org}</span>}</span>
              <span className="dim small">{m.namespaces.map(n => <span key={n}><Id of={n} /> </span>)}</span>
            </li>
          ))}
        </ul>
      </section>
      <section className="card stack" aria-label={words.edges}>
        <header><h2>{words.edges}</h2></header>
        {r.edges.length === 0 && <p className="dim">{words.noEdges}</p>}
        <ul className="list">{r.edges.map(e => <li key={`${e.from} ${e.to}`}><span className="grow"><Id of={e.from} /> {words.modes[e.mode] ?? e.mode} <Id of={e.to} /></span></li>)}</ul>
        <dl className="facts">
          <dt>{words.partition}</dt><dd><Id of={own} /></dd>
          <dt>{words.org}</dt><dd>{r.org ? <Id of={r.org.partition} /> : words.own}</dd>
          {r.promoting && <><dt>{words.promoting}</dt><dd><Id of={r.promoting.from.join(', ')} /> → <Id of={r.promoting.to} /></dd></>}
          <dt>{words.version}</dt><dd>{r.version}</dd>
          <dt>{words.updated}</dt><dd><Time at={r.updatedAt} /> {words.by} <Name of={r.updatedBy} /></dd>
        </dl>
      </section>
    </div>
  )
}
