import { w } from '../text/writes.ts'
import { SubjectLink } from './Id.tsx'
import type { Trouble } from './States.tsx'

/** The path of a cycle that was refused, each a link; null of another failure. */
export function cycle(org: string, kind: 'user' | 'group', of: unknown) {
  const { code, fields } = (of ?? {}) as Trouble
  const path = fields?.path
  if (code !== 'graph_cycle' || !Array.isArray(path)) return null
  return (
    <div className="note no" role="alert">
      <div>
        <p>{w.cycle}</p>
        <p className="path">{path.map((id, i) => <span key={i}><SubjectLink org={org} of={`${kind}:${id}`} /></span>)}</p>
      </div>
    </div>
  )
}
