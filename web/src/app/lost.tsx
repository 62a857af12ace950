import { Link } from '@tanstack/react-router'
import { t } from '../text/en.ts'
import { Empty } from '../ui/States.tsx'

/** Where no screen is, inside an org. */
export function Lost() {
  return (
    <div className="page">
      <Empty title={t.lost.title}>
        <p>{t.lost.text}</p>
        <Link className="button" to="/">{t.lost.home}</Link>
      </Empty>
    </div>
  )
}

/** The same, where nothing stands around it. */
export function LostAlone() {
  return <main><Lost /></main>
}
