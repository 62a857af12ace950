import './ui/tokens.css'
import './ui/ui.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { I18nProvider } from 'react-aria-components'
import { queries } from './api/queries.ts'
import { router } from './app/router.tsx'
import { watchSession } from './app/session.ts'
import { applyTheme } from './ui/settings.ts'

applyTheme()
watchSession()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <I18nProvider locale="en-US">
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </I18nProvider>
  </StrictMode>,
)
