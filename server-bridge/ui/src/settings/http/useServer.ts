import { useTranslation } from "react-i18next";
import { plainly } from "../hookTexts";
import type { HttpTool } from "../types";

/** The displayed server of a tool, with the runner through which it is reached. */
export function useServer(tool: HttpTool): string {
  const { t } = useTranslation("settings");
  const server = plainly(tool.server);
  return tool.via === null ? server : t("http.through", { server, via: plainly(tool.via) });
}
