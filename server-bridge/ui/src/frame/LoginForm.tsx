import type { TFunction } from "i18next";
import { type FormEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api";
import { useAction } from "../lib/useAction";
import { useActions } from "../state/context";
import { Logo } from "./Logo";
import styles from "./frame.module.css";

export function LoginForm() {
  const { t } = useTranslation("frame");
  const actions = useActions();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const passwordInput = useRef<HTMLInputElement>(null);
  const login = useAction(async () => {
    try {
      await actions.login(name.trim(), password);
    } catch (error) {
      throw new Error(loginProblem(error, t));
    }
  });

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await login.run()) return;
    passwordInput.current?.select();
  };

  return (
    <main className={styles.centered}>
      <form className={styles.login} onSubmit={submit} aria-busy={login.busy}>
        <h1>
          <Logo /> Sandbridge
        </h1>
        <label htmlFor="login-name">{t("name")}</label>
        <input
          id="login-name"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          autoFocus
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <label htmlFor="login-password">{t("password")}</label>
        <input
          id="login-password"
          ref={passwordInput}
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <p className="problem" role="alert">
          {login.error}
        </p>
        <button type="submit" className="primary" disabled={login.busy}>
          {login.busy ? t("signingIn") : t("signIn")}
        </button>
      </form>
    </main>
  );
}

function loginProblem(error: unknown, t: TFunction<"frame">): string {
  if (!(error instanceof ApiError)) return String(error);
  if (error.status === 401) return t("wrongLogin");
  if (error.status !== 429) return error.message;
  const wait = error.retryAfterS === null ? t("aWhile") : t("seconds", { count: error.retryAfterS });
  return t("tooManyAttempts", { wait });
}
