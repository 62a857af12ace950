import { type ReactNode, useEffect } from 'react'
import { visible } from '../domain/visible.ts'

/** A screen: its title, what it is for, what can be done, and the rest. */
export function Page({ title, lead, actions, full, children }: { title: string; lead?: ReactNode; actions?: ReactNode; full?: boolean; children: ReactNode }) {
  useEffect(() => {
    document.title = `${visible(title)} · authz`
  }, [title])
  return (
    <div className={full ? 'page full' : 'page'}>
      <header>
        <div className="grow">
          <h1>{visible(title)}</h1>
          {lead && <p>{lead}</p>}
        </div>
        {actions && <div className="row">{actions}</div>}
      </header>
      {children}
    </div>
  )
}
