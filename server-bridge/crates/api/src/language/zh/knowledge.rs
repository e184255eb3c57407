//! Collections, and the reasons why documents are not read.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    (
        "the document needs a password: save it without one and add it again",
        "文档需要密码：请去掉密码后重新添加",
    ),
    (
        "no text found: it seems to be scanned; add a version with recognised text",
        "没有找到文本：文档似乎是扫描件；请添加经过文字识别的版本",
    ),
    (
        "no text found: the document is empty; add one with text",
        "没有找到文本：文档是空的；请添加有文本的文档",
    ),
    ("the document is too large: the limit is {} MiB; split it", "文档太大：最多读取 {0} MiB；请拆分文档"),
    (
        "the document is too large: the limit is {} pages and {} MiB of text; split it",
        "文档太大：最多读取 {0} 页和 {1} MiB 文本；请拆分文档",
    ),
    (
        "the document is too large: the limit is {} cells; split it",
        "文档太大：最多读取 {0} 个单元格；请拆分文档",
    ),
    (
        "the document unpacks to more than {} MiB or {} files; split it",
        "文档解压后超过 {0} MiB 或 {1} 个文件；请拆分文档",
    ),
    (
        "reading the document took longer than {} s; split it, or save it in another format",
        "读取文档的时间超过 {0} 秒；请拆分文档，或另存为其他格式",
    ),
    (
        "reading the document needed too much memory; split it, or save it in another format",
        "读取文档所需的内存过多；请拆分文档，或另存为其他格式",
    ),
    (
        "the document is damaged ({}); save it again, or in another format",
        "文档已损坏（{0}）；请重新保存，或另存为其他格式",
    ),
    (
        "this is {}, which cannot be read; add a PDF, docx, xlsx, HTML, Markdown or text file, or source code",
        "这是{0*}，无法读取；请添加 PDF、docx、xlsx、HTML、Markdown、文本或源代码文件",
    ),
    ("a file that is not text", "非文本文件"),
    ("an archive (unpack it and add the documents in it)", "压缩包（请解压后添加其中的文档）"),
    (
        "an Office document in the old format (save it as .docx or .xlsx)",
        "旧格式的 Office 文档（请另存为 .docx 或 .xlsx）",
    ),
    ("a picture", "图片"),
    ("a picture, a sound recording or a video", "图片、音频或视频"),
    ("a compressed file", "压缩文件"),
    ("a program", "程序"),
    ("a database", "数据库"),
    ("a sound recording", "音频"),
    ("documents cannot be read on this server: {}", "本服务器无法读取文档：{0}"),
    ("the document did not arrive completely; send it again", "文档未能完整上传；请重新上传"),
    (
        "the server was killed each time it read this document; add it again for another attempt",
        "服务器每次读取此文档时都被终止；重新添加可再试一次",
    ),
    ("{} of {} pages could not be read", "{1} 页中有 {0} 页无法读取"),
    (
        "{} of {} pages could not be read; pages that were too long and are cut off: {}",
        "{1} 页中有 {0} 页无法读取；另有 {2} 页过长，已截断",
    ),
    ("pages that were too long and are cut off: {}", "{0} 页过长，已截断"),
    (
        "{}; its documents are kept; delete the collection if the folder no longer exists",
        "{0*}；文档已保留；如果该文件夹已不存在，请删除文档集",
    ),
    (
        "documents missing from the folder: {} of {}; they are kept until you confirm that they are gone (sandbridge knowledge sync --remove-missing)",
        "{1} 个文档中有 {0} 个已不在文件夹中；在你确认之前，这些文档会保留（sandbridge knowledge sync --remove-missing）",
    ),
    ("found by words only: this server has no embedder installed", "仅按关键词搜索：本服务器未安装嵌入模型"),
    (
        "found by words only: the server's embedder does not answer",
        "仅按关键词搜索：服务器的嵌入模型没有响应",
    ),
    ("found by words only: the server's embedder cannot be used", "仅按关键词搜索：服务器的嵌入模型无法使用"),
    (
        "found by words only: comparing the question with all passages took too long",
        "仅按关键词搜索：将问题与所有段落比较耗时过长",
    ),
    (
        "some passages are found by words only, until the server has embedded them",
        "部分段落目前仅能按关键词找到，待服务器完成向量化后即可按语义搜索",
    ),
    (
        "passages found by words only, until the server has embedded them: {}",
        "{0} 个段落目前仅能按关键词找到，待服务器完成向量化后即可按语义搜索",
    ),
    (
        "passages found by words only, since the server's embedder refuses them: {}",
        "{0} 个段落仅能按关键词找到：服务器的嵌入模型拒绝处理它们",
    ),
    (
        "the folder has more than {} files; the newest are indexed, and no document is removed",
        "该文件夹的文件超过 {0} 个；只索引最新的文件，不移除任何文档",
    ),
    (
        "scanning the folder took too long; it will be retried in 10 minutes",
        "扫描文件夹的时间过长；10 分钟后会重试",
    ),
    ("reading a file took too long", "读取文件的时间过长"),
    (
        "files left out: {}; your documents can have at most {} GiB together; delete some first",
        "有 {0} 个文件未索引：你的文档总大小不能超过 {1} GiB；请先删除一些",
    ),
    (
        "files that are too large and left out: {}, such as {}; at most {} MiB of a file are read; split them",
        "有 {0} 个文件过大，未索引，例如 {1}；每个文件最多读取 {2} MiB；请拆分这些文件",
    ),
    // Refusals of the store.
    ("collection", "文档集"),
    ("document", "文档"),
    ("upload", "上传"),
    ("the collection", "文档集"),
    ("the document", "文档"),
    ("the upload", "上传"),
    (
        "{} exceeds the limit: you already have {}; delete one first",
        "{0}已达上限：你已有 {1} 个；请先删除一个",
    ),
    (
        "{} exceeds the limit: a collection can have at most {}; delete some, or add another collection",
        "{0}已达上限：一个文档集最多 {1} 个；请删除一些，或新建另一个文档集",
    ),
    (
        "{} consists of uploads; only a collection of a runner's folder can be synchronised",
        "该{0}由上传的文档组成；只有运行器文件夹的文档集才能同步",
    ),
    ("{} needs a name that is not empty and has no line breaks", "{0}需要一个非空的单行名称"),
    (
        "{} is refused for now: {} of your documents are not indexed yet; try again later",
        "暂时无法{0}：你有 {1} 个文档尚未索引；请稍后重试",
    ),
    (
        "{} is refused: your documents can have at most {} GiB in total; delete some first",
        "无法{0}：你的文档总大小不能超过 {1} GiB；请先删除一些",
    ),
    ("there is no user {}; check the name", "没有用户 {0}；请检查用户名"),
    ("{} needs a name without line breaks", "{0}需要一个单行名称"),
    (
        "{} cannot be added to a collection that mirrors a folder; put the file into that folder",
        "无法{0}：此文档集来自一个文件夹，请将文件放入该文件夹",
    ),
];
