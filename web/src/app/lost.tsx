import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/States.tsx'
import { t } from '../text/en.ts'

export function Lost() {
  return (
    <main className="page">
      <Empty title={t.lost.title}>
        <p>{t.lost.text}</p>
        <Link className="button" to="/">{t.lost.home}</Link>
      </Empty>
    </main>
  )
}
